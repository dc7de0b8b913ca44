// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <map>
#include <string>

namespace shardscope {

/// What a manifest promises of one file.
struct ManifestFile {
    uint64_t bytes = 0;
    std::string sha256;
};

/// The parts of `shardscope.json` that verification needs.
struct Manifest {
    std::map<std::string, ManifestFile> files; ///< by path relative to the target
    std::string fingerprint; ///< 32 hex digits; empty when the job was not asked to verify
};

/// Damaged when the text is no manifest of ours.
Result<Manifest> parseManifest(const std::string& text);

} // namespace shardscope
