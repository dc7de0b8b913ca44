// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/cli/cli_fixture.h"
#include "tests/support/places.h"

#include <doctest/doctest.h>

#include <filesystem>

#include <unistd.h>

namespace shardscope::test {

namespace fs = std::filesystem;

inline void script(const fs::path& path, const std::string& text)
{
    spill(path, "#!/bin/sh\n" + text);
    fs::permissions(path, fs::perms::owner_all);
}

/// Another host: a home folder, and a PATH with the built program or without it.
class Host
{
public:
    explicit Host(bool hasProgram = true)
    {
        fs::create_directories(m_folder / "home");
        fs::create_directories(m_folder / "bin");
        if (hasProgram)
            fs::create_symlink(programPath(), m_folder / "bin/shardscope");
        script(m_folder / "ssh",
            "[ \"$1\" = node7 ] || exit 255\nexec env -i HOME='" + (m_folder / "home").string() + "' PATH='"
                + (m_folder / "bin").string() + ":/usr/bin:/bin' sh -c \"$2\"\n");
    }

    [[nodiscard]] fs::path home() const { return m_folder / "home"; }
    [[nodiscard]] const TemporaryFolder& folder() const { return m_folder; }
    [[nodiscard]] ProcessOptions options() const
    {
        return {.environment = {{"SHARDSCOPE_SSH", "'" + (m_folder / "ssh").string() + "'"}}};
    }
    ProcessResult run(const Words& words) const { return runShardscope(words, options()); }

private:
    TemporaryFolder m_folder;
};

inline std::string far(const fs::path& path)
{
    return "node7:" + path.string();
}

} // namespace shardscope::test
