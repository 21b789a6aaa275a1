# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
#
# Toolchain of the wheel, for tools/wheel/build.py: its compiler, and its libraries as archives.
# RINGFORGE_WHEEL is where they are installed.
set(CMAKE_C_COMPILER "$ENV{CC}")
set(CMAKE_CXX_COMPILER "$ENV{CXX}")
set(CMAKE_AR "$ENV{AR}" CACHE FILEPATH "")
set(CMAKE_RANLIB "$ENV{RANLIB}" CACHE FILEPATH "")
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES RINGFORGE_WHEEL RINGFORGE_WHEEL_HEADERS RINGFORGE_WHEEL_RUNTIME)

set(OPENSSL_ROOT_DIR "${RINGFORGE_WHEEL}")
set(OPENSSL_USE_STATIC_LIBS TRUE)
set(SODIUM_INCLUDE_DIR "${RINGFORGE_WHEEL}/include")
set(SODIUM_LIBRARY "${RINGFORGE_WHEEL}/lib/libsodium.a")

if(RINGFORGE_WHEEL_HEADERS)
  set(CMAKE_CXX_FLAGS_INIT "-idirafter ${RINGFORGE_WHEEL_HEADERS}")
endif()
# Whatever is linked in stays inside: another copy of OpenSSL or libc++ in the process is not to be mixed up with it.
set(CMAKE_MODULE_LINKER_FLAGS_INIT "-Wl,--version-script=${CMAKE_CURRENT_LIST_DIR}/exports.map -Wl,--gc-sections")
# Zig's runtime is one object: a division of 128 bits would bring its cosine and memcpy too, which would stand before
# the C library's. GCC's has none.
set(CMAKE_CXX_STANDARD_LIBRARIES_INIT "${RINGFORGE_WHEEL_RUNTIME}")
