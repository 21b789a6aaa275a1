// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Runs the program of constant_time/ under valgrind: no branch and no address may depend on a client's secrets, and a
// query must be the same work for any cells. Vector sets beyond AVX2 are unknown to valgrind; they have no branches
// and no table lookups of their own. The OPRF's lanes are watched as the same templates over plain integers.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

// Sanitizers and valgrind cannot watch one program both.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

const std::string kProgram = RINGFORGE_CONSTANT_TIME_PROGRAM, kSuppressions = RINGFORGE_CONSTANT_TIME_SUPPRESSIONS;

std::string scratch(const std::string& name) {
  return std::filesystem::temp_directory_path() / (name + "." + std::to_string(::getpid()));
}

/// Exit code of the program under a tool of valgrind; what they print is in `log`.
int under_valgrind(const std::string& kernels, const std::string& options, const std::string& mode, std::string& log) {
  const std::string file = scratch("valgrind");
  const std::string command =
      "RINGFORGE_KERNELS=" + kernels + " valgrind " + options + " " + kProgram + " " + mode + " > " + file + " 2>&1";
  const int status = std::system(command.c_str());
  std::ifstream in(file);
  log.assign(std::istreambuf_iterator<char>(in), {});
  std::filesystem::remove(file);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// The program's own operators new and delete are used, not valgrind's.
std::string memcheck() {
  return "-q --soname-synonyms=somalloc=nouserintercepts --suppressions=" + kSuppressions + " ";
}
const std::string kFail = "--error-exitcode=99";

std::vector<std::string> watchable_kernels() {
  std::vector<std::string> sets{"ref"};
  if (__builtin_cpu_supports("avx2")) sets.emplace_back("avx2");
  return sets;
}

TEST(ConstantTime, NoBranchAndNoAddressDependsOnASecret) {
  for (const auto& kernels : watchable_kernels()) {
    std::string log;
    EXPECT_EQ(under_valgrind(kernels, memcheck() + kFail, "secrets", log), 0) << kernels << "\n" << log.substr(0, 8000);
  }
}

TEST(ConstantTime, SignalsBranchOnNoSecret) {
  std::string log;
  EXPECT_EQ(under_valgrind("ref", memcheck() + kFail, "signals", log), 0) << log.substr(0, 8000);
}

TEST(ConstantTime, TheOprfsLanesBranchOnNoSecretAndWipeTheirMemory) {
  std::string log;
  EXPECT_EQ(under_valgrind("ref", memcheck() + kFail, "oprf", log), 0) << log.substr(0, 8000);
  EXPECT_EQ(under_valgrind("ref", memcheck() + kFail, "oprf-leak", log), 99) << log.substr(0, 8000);
}

TEST(ConstantTime, NothingSecretIsLeftInFreedMemory) {
  std::string log;
  EXPECT_EQ(under_valgrind("ref", memcheck(), "wiped", log), 0) << log.substr(0, 8000);
}

TEST(ConstantTime, ABranchOnACellIsReported) {
  std::string log;
  EXPECT_EQ(under_valgrind("ref", memcheck() + kFail, "leak", log), 99) << log;
  EXPECT_NE(log.find("depends on uninitialised value"), std::string::npos) << log;
}

TEST(ConstantTime, AQueryIsTheSameWorkForAnyCells) {
  std::vector<std::string> counts;
  for (const char* cells : {"zeros", "ones", "random"}) {
    const std::string out = scratch("callgrind");
    std::string log, line;
    ASSERT_EQ(under_valgrind("ref", "--tool=callgrind --collect-atstart=no --callgrind-out-file=" + out, cells, log), 0)
        << log;
    std::ifstream in(out);
    while (std::getline(in, line))
      if (line.starts_with("summary: ")) counts.push_back(line);
    std::filesystem::remove(out);
  }
  ASSERT_EQ(counts.size(), 3u);
  EXPECT_GT(std::stoll(counts[0].substr(9)), 1000000) << "instructions were counted";
  EXPECT_EQ(counts[1], counts[0]) << "all bits 1 against all bits 0";
  EXPECT_EQ(counts[2], counts[0]) << "random cells against all bits 0";
}

}  // namespace

#endif
