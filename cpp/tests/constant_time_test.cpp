// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Ringforge authors
//
// Runs the programs of constant_time/ under valgrind: no branch and no address may depend on a secret, and a query must
// be the same work for any cells. Vector sets beyond AVX2 are unknown to valgrind; they have no branches
// and no table lookups of their own. The OPRF's lanes are watched as the same templates over plain integers.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <vector>

// Sanitizers and valgrind cannot watch one program both.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

namespace {

const std::string kProgram = RINGFORGE_CONSTANT_TIME_PROGRAM, kSchemes = RINGFORGE_CONSTANT_TIME_SCHEMES,
                  kSuppressions = RINGFORGE_CONSTANT_TIME_SUPPRESSIONS;

std::string scratch(const std::string& name) {
  return std::filesystem::temp_directory_path() / (name + "." + std::to_string(::getpid()));
}

/// Exit code of a program under a tool of valgrind; what they print is in `log`.
int under_valgrind(const std::string& kernels, const std::string& options, const std::string& mode, std::string& log,
                   const std::string& program = kProgram) {
  const std::string file = scratch("valgrind-" + kernels);
  const std::string command =
      "RINGFORGE_KERNELS=" + kernels + " valgrind " + options + " " + program + " " + mode + " > " + file + " 2>&1";
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

/// Every operation of these groups is clean by every set of kernels that valgrind knows; they run at the same time.
void expect_clean(const std::string& groups) {
  const auto sets = watchable_kernels();
  std::vector<std::string> logs(sets.size());
  std::vector<std::future<int>> codes;
  for (std::size_t i = 0; i < sets.size(); ++i)
    codes.push_back(std::async(std::launch::async, [&, i] {
      return under_valgrind(sets[i], memcheck() + "--error-limit=no", groups, logs[i], kSchemes);
    }));
  for (std::size_t i = 0; i < sets.size(); ++i) {
    EXPECT_EQ(codes[i].get(), 0) << sets[i] << "\n" << logs[i].substr(0, 16000);
    EXPECT_NE(logs[i].find(" clean "), std::string::npos) << logs[i];
  }
}

TEST(ConstantTime, Ckks) { expect_clean("ckks"); }
TEST(ConstantTime, Bfv) { expect_clean("bfv"); }
TEST(ConstantTime, Bgv) { expect_clean("bgv"); }
TEST(ConstantTime, Ltv) { expect_clean("ltv"); }
TEST(ConstantTime, Gates) { expect_clean("gates"); }
TEST(ConstantTime, ThePolynomialPsiClient) { expect_clean("psi-poly"); }
TEST(ConstantTime, DigestsOfRetrieval) { expect_clean("omr"); }
TEST(ConstantTime, TheOprfByLibsodium) { expect_clean("oprf"); }

TEST(ConstantTime, APlantedBranchAndAPlantedAddressAreReported) {
  std::string log;
  EXPECT_EQ(under_valgrind("ref", memcheck(), "planted", log, kSchemes), 1) << log;
  const auto verdict = [&](const std::string& name) {
    const auto at = log.find(name);
    return at == std::string::npos ? "" : log.substr(at, log.find('\n', at) - at);
  };
  EXPECT_NE(verdict("planted.none ").find(" clean "), std::string::npos) << log;
  EXPECT_NE(verdict("planted.branch ").find(" REPORTED "), std::string::npos) << log;
  EXPECT_NE(verdict("planted.address ").find(" REPORTED "), std::string::npos) << log;
  EXPECT_NE(log.find("Conditional jump or move depends on uninitialised value"), std::string::npos) << log;
  EXPECT_NE(log.find("Use of uninitialised value"), std::string::npos) << log;
}

// What a library routine does is whoever's library it is: that of some versions of libgcc reads a table.
TEST(ConstantTime, ErrorsAreCountedWithoutALibraryRoutine) {
  const std::string file = scratch("objdump");
  ASSERT_EQ(std::system(("objdump -dC --no-show-raw-insn " + kSchemes + " > " + file).c_str()), 0);
  std::ifstream in(file);
  std::size_t samplers = 0;
  std::string line, function;
  while (std::getline(in, line)) {
    if (line.ends_with(">:")) {
      function = line;
      samplers += line.find("sample_error(") != std::string::npos ? 1 : 0;
    }
    if (line.find("__popcount") == std::string::npos) continue;
    for (const char* user : {"sample_error(", "GateSecretKey::encrypt(", "::generate("})
      EXPECT_EQ(function.find(user), std::string::npos) << function << "\n" << line;
  }
  std::filesystem::remove(file);
  EXPECT_GE(samplers, 1u) << "the sampler was looked at";
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
