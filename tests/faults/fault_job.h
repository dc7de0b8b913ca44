// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/hostile/hostile_fixture.h"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace shardscope::test {

/// Commands that run one after the other in this process, one of which meets a fault.
struct FaultJob {
    std::string name;
    std::vector<Words> commands;
    size_t faulty = 0; ///< the command that meets the fault
    /// What the commands write; empty if they only read.
    std::filesystem::path target = {};
};

/// Samples in a folder in memory, and the jobs on them.
class FaultBench
{
public:
    FaultBench();

    /// `jobs` is the value of --jobs.
    [[nodiscard]] std::vector<FaultJob> writers(const std::string& jobs) const;
    [[nodiscard]] std::vector<FaultJob> readers(const std::string& jobs) const;
    /// The samples are as they were.
    [[nodiscard]] bool sourcesAreUnchanged() const;

private:
    [[nodiscard]] std::string at(const char* name) const { return m_folder / name; }

    TemporaryFolder m_home{
        TemporaryFolder::Where::Memory}; ///< a repair examines the files next to its source
    TemporaryFolder m_folder{TemporaryFolder::Where::Memory};
    std::filesystem::path m_source;
    std::filesystem::path m_damaged;
    std::map<std::string, std::string> m_before;
    std::map<std::string, std::string> m_damagedBefore;
};

/// What a job did: the exit status of its faulty command, and what it printed.
struct FaultOutcome {
    int exit = 0;
    std::string out;
    std::string err;
    std::map<std::string, std::string>
        files; ///< of runClean(): the target's, without work folders: path → bytes
};

std::map<std::string, std::string> targetOf(const FaultJob& job);
/// Empties the target and runs the commands before the faulty one.
void prepare(const FaultJob& job);
/// Runs the faulty one.
FaultOutcome runFaulty(const FaultJob& job);
/// Runs everything without a fault.
FaultOutcome runClean(const FaultJob& job);
/// Checks what a command made of its fault, and what the same command makes of it afterwards. `allowed`: exit
/// statuses besides that of the clean run.
void checkOutcome(const FaultJob& job, const FaultOutcome& clean, const FaultOutcome& faulty,
    const std::vector<int>& allowed);

} // namespace shardscope::test
