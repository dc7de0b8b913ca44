// SPDX-License-Identifier: Apache-2.0
#include "tests/support/temporary_folder.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace shardscope::test {

namespace {

std::filesystem::path rootFor(TemporaryFolder::Where where)
{
    if (const char* chosen = std::getenv("SHARDSCOPE_TEST_TMP"))
        return chosen;
    if (where == TemporaryFolder::Where::Memory && ::access("/dev/shm", W_OK) == 0)
        return "/dev/shm";
    return std::filesystem::temp_directory_path();
}

} // namespace

TemporaryFolder::TemporaryFolder(Where where)
{
    const std::filesystem::path root = rootFor(where);
    std::string pattern = (root / "shardscope-test-XXXXXX").string();
    if (!::mkdtemp(pattern.data()))
        throw std::runtime_error("cannot make a temporary folder below " + root.string());
    m_path = std::filesystem::canonical(pattern);
}

TemporaryFolder::~TemporaryFolder()
{
    std::error_code ignored;
    std::filesystem::remove_all(m_path, ignored);
}

std::string slurp(const std::filesystem::path& path)
{
    std::ifstream in(path, std::ios::binary);
    if (!in)
        throw std::runtime_error("cannot read " + path.string());
    return {std::istreambuf_iterator<char>(in), {}};
}

void spill(const std::filesystem::path& path, const std::string& bytes)
{
    std::filesystem::create_directories(path.parent_path());
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!out.flush())
        throw std::runtime_error("cannot write " + path.string());
}

} // namespace shardscope::test
