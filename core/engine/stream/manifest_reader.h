// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/result.h"
#include "core/describe/json_in.h"
#include "core/io/content_digest.h"
#include "core/tensor/element_digest.h"

#include <cstdint>
#include <map>
#include <string>

namespace shardscope {

/// The entry of one file in a manifest.
struct ManifestFile {
    uint64_t bytes = 0;
    std::string digest; ///< of its content (content_digest.h)
};

/// The parts of `shardscope.json` that verification needs. Version 1 has `sha256` for each file, and
/// fingerprints of version 1.
struct Manifest {
    std::map<std::string, ManifestFile> files; ///< by path relative to the target
    std::string fingerprint; ///< 32 hex digits; empty if there is none
    DigestVersion fingerprintVersion = kDigestVersion; ///< Two where it is newer than this release knows
    bool fingerprintIsNewer = false; ///< it cannot be computed by this release

    /// The kind of the files' digests: all have the same.
    [[nodiscard]] io::DigestKind digestKind() const;
};

/// Damaged if the text is not a manifest of this program.
Result<Manifest> parseManifest(const std::string& text);
Result<Manifest> readManifest(const JsonNode& root);

} // namespace shardscope
