// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/base/finding.h"
#include "core/torchfile/pickle/pickle_graph.h"
#include "core/torchfile/zip/zip_directory.h"

#include <span>
#include <vector>

namespace shardscope {

/// What torch wrote before its zip files, and still writes with `_use_new_zipfile_serialization=False`
/// (DeepSpeed: `checkpoint_serialization: false`): five pickles one after another (a magic number, a protocol
/// number, facts of the machine, the object, the keys of the storages), then for each key eight bytes with
/// the number of elements and the elements, without alignment or checksums. Source: torch/serialization.py,
/// _legacy_save and _legacy_load.
///
/// Here it is presented like the zip form, so that all callers read both in the same way: records "data.pkl"
/// and "data/KEY" without CRCs, and persistent ids without the sixth part that only this form has.
struct LegacyFile {
    std::vector<ZipRecord> records;
    PickleGraph graph;
    std::vector<Finding> findings;
    bool bigEndian = false;
};

/// Whether a file begins with the magic number of this form.
bool isLegacyFile(std::span<const uint8_t> head);

/// Reads the pickles and finds the storages; payloads are not read.
///
/// Damaged: what torch's loader would stop at. A storage that reaches past the end of the file is a damaged
/// record and a finding in Tolerant mode. Unsupported: another protocol, modules pickled with their source
/// code, storages that are parts of others (torch before 0.4).
Result<LegacyFile> readLegacyFile(const io::ReadFile& file, ReadMode mode, JobContext& job);

} // namespace shardscope
