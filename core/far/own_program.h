// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace shardscope::far {

/// The command-line program without shared libraries, of this version: this program itself, or
/// `shardscope-static` that lies beside it. Other hosts get a copy of it.
struct OwnProgram {
    std::filesystem::path path;
    uint64_t bytes = 0;
    std::string version; ///< that of the build and a digest of the bytes, as the name of a folder

    /// Nothing where there is no such program.
    static std::optional<OwnProgram> find();
    /// All bytes, in pieces. Unreadable, also if the size has changed; errors of `take`.
    [[nodiscard]] Status read(const std::function<Status(std::string_view)>& take) const;
};

/// As `uname -m` prints it.
std::string ownMachine();

} // namespace shardscope::far
