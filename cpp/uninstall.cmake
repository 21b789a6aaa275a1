# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Ringforge authors
#
# Removes what the last installation from a build folder put in place, and folders that are empty then.
if(NOT EXISTS "${MANIFEST}")
  message(FATAL_ERROR "${MANIFEST} is missing: nothing was installed from this build folder")
endif()
file(STRINGS "${MANIFEST}" files)
set(folders "")
foreach(file IN LISTS files)
  set(path "$ENV{DESTDIR}${file}")
  file(REMOVE "${path}")  # says nothing where it cannot
  if(EXISTS "${path}" OR IS_SYMLINK "${path}")
    message(FATAL_ERROR "${path} cannot be removed: uninstall as the user who installed")
  endif()
  # Up to the first folder that is not ours: those named for the library, and what lies in them.
  get_filename_component(folder "${path}" DIRECTORY)
  while(folder MATCHES "/ringforge(/|$)")
    list(APPEND folders "${folder}")
    get_filename_component(folder "${folder}" DIRECTORY)
  endwhile()
endforeach()
list(REMOVE_DUPLICATES folders)
list(SORT folders ORDER DESCENDING)  # the deepest first
foreach(folder IN LISTS folders)
  file(GLOB left LIST_DIRECTORIES true "${folder}/*")
  if(IS_DIRECTORY "${folder}" AND NOT left)
    file(REMOVE_RECURSE "${folder}")
  endif()
endforeach()
list(LENGTH files count)
message(STATUS "Removed ${count} files of ${MANIFEST}")
file(REMOVE "${MANIFEST}")
