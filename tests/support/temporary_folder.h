// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace shardscope::test {

/// A new empty folder that goes away with the object. SHARDSCOPE_TEST_TMP chooses where (another file
/// system).
class TemporaryFolder
{
public:
    /// Memory: on /dev/shm where there is one, for tests that sync thousands of times.
    enum class Where { Disk, Memory };
    explicit TemporaryFolder(Where where = Where::Disk);
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return m_path; }
    [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return m_path / name; }

private:
    std::filesystem::path m_path;
};

/// Plain whole-file access that does not go through the code under test.
std::string slurp(const std::filesystem::path& path);
void spill(const std::filesystem::path& path, const std::string& bytes);

} // namespace shardscope::test
