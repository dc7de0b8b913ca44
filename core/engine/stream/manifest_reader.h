// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <map>
#include <string>

namespace shardscope {

/// The entry of one file in a manifest.
struct ManifestFile {
    uint64_t bytes = 0;
    std::string sha256;
};

/// The parts of `shardscope.json` that verification needs.
struct Manifest {
    std::map<std::string, ManifestFile> files; ///< by path relative to the target
    std::string fingerprint; ///< 32 hex digits; empty if the job did not verify
};

/// Damaged if the text is not a manifest of this program.
Result<Manifest> parseManifest(const std::string& text);

} // namespace shardscope
