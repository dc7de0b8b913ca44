// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/torchfile/zip/kept_bytes.h"
#include "core/torchfile/zip/zip_directory.h"

#include <string>
#include <unordered_map>

namespace shardscope {

/// New checksums of a zip archive's records, by name: put into local headers that have one, into data
/// descriptors and into the directory. `kept` holds these parts of the file; sizes and places stay.
///
/// Damaged where the directory is not what `zip` was read from.
Status setChecksums(KeptBytes& kept, const ZipDirectory& zip, const ZipDirectory::EndInfo& end,
    const std::unordered_map<std::string, uint32_t>& checksums);

} // namespace shardscope
