// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder core/torchfile/formats: the file formats besides torch's zip form, each in a header of its own: what
// is in a file, and its bytes before it is written. Start with the format that you need, for example DcpEntry
// here or readSafetensors().

#include "core/base/job_context.h"
#include "core/io/file_system.h"
#include "core/tensor/boxes.h"
#include "core/tensor/dtype.h"
#include "core/tensor/shape.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace shardscope {

/// What `.metadata` of a PyTorch Distributed Checkpoint says (torch/distributed/checkpoint/metadata.py,
/// filesystem.py): its entries, with the file and place of each.
inline constexpr std::string_view kDcpMetadataName = ".metadata";

/// Bytes of one file that are an archive of torch.save by themselves.
struct DcpPlace {
    std::string file; ///< relative to the folder: "__0_0.distcp"
    uint64_t offset = 0;
    uint64_t bytes = 0;
    bool operator==(const DcpPlace&) const = default;
};

/// A part of a tensor: a box of its elements, stored row by row as a tensor of its own.
struct DcpChunk {
    Shape offsets;
    Shape sizes;
    DcpPlace place;

    [[nodiscard]] Box box() const { return {offsets, sizes}; }
};

/// A step on the way from the root of a nested state dict: a key, or a position in a list.
using DcpStep = std::variant<std::string, int64_t>;

/// One value of the state dict: a tensor in chunks, or an object.
struct DcpEntry {
    std::string key; ///< the steps of its path with dots between them
    std::vector<DcpStep> path; ///< empty where the metadata do not record it
    bool isTensor = false;
    DType dtype = DType::Unknown;
    Shape shape;
    std::vector<DcpChunk> chunks; ///< of a tensor; they cover each of its elements once
    DcpPlace place; ///< of an object
};

/// The file's bytes: a pickle of protocol 2 with classes of torch that every release since 2.4 can load.
/// Chunks are in the entries' order.
Result<std::string> dcpMetadataBytes(std::span<const DcpEntry> entries);

/// Reads `.metadata` of a folder as data; nothing of it is executed. NotFound where there is none; Damaged
/// where it is not torch's or contradicts itself; Hostile where it points outside the folder; Unsupported, by
/// name, for transformed storage. Entries are in the order of their recorded paths, which is that of the
/// saved state dict; those without a path come last, in the file's order.
Result<std::vector<DcpEntry>> readDcpMetadata(io::FileSystem& files, const io::Path& folder, JobContext& job);

} // namespace shardscope
