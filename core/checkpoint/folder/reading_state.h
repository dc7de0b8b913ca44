// SPDX-License-Identifier: Apache-2.0
#pragma once

// Folder core/checkpoint/folder: finds the tag and its files, opens them, and holds what all readers share.
// Start with Reading, then discover().

#include "core/base/job_context.h"
#include "core/checkpoint/folder/open_depth.h"
#include "core/checkpoint/model/checkpoint.h"
#include "core/checkpoint/model/file_names.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shardscope {

/// One rank's swap files (swap.h).
struct SwapFolder {
    enum class Origin { Checkpoint, NextToTag, Named };
    Origin origin
        = Origin::Checkpoint; ///< copied into the tag, or a live folder that is next to it or was named
    std::string name; ///< relative to the tag folder, for findings
    std::optional<uint32_t> rank; ///< unset: several ranks wrote into it and overwrote each other's files
    std::vector<FileId> files;
};

struct ModuleTensor;

/// What the readers share while they fill a Checkpoint. One thread at a time. Afterwards the Checkpoint is
/// immutable.
struct Reading {
    io::FileSystem& files;
    JobContext& job;
    OpenDepth depth;
    Checkpoint& out;
    bool bf16Prefix = false; ///< prefix of the optimizer files to use
    uint32_t worldSize = 0; ///< data-parallel ranks that must have files
    uint32_t modelRanks = 1; ///< tensor slices × pipeline stages of the checkpoint
    NodeId modelRoot = kNoNode; ///< root mapping of the rank-0 (or first readable) model file
    bool placeholders = false; ///< tensors of shape (0,) in `module` may be placeholders
    std::vector<io::Path> roots{}; ///< OpenOptions::roots
    bool salvage = false; ///< OpenOptions::salvage
    io::Path modelsFrom{}; ///< OpenOptions::modelsFrom
    std::map<std::string, std::string> exchanged{}; ///< OpenOptions::exchanged
    std::vector<SwapFolder> swapFolders{};
    /// By parameter: whether its shape differs from its copy in `module`. Such a copy is a part of it or has
    /// padding rows.
    std::vector<bool> reshaped{};

    /// For checkpoints saved without ZeRO by pipeline stages: what this stage trains (stage0_stages.h). Null
    /// for all others.
    const std::vector<ModuleTensor>* ofStage = nullptr;

    struct Loaded {
        std::shared_ptr<const TorchFile> content;
        std::optional<Error> error;
        [[nodiscard]] bool isThere() const { return content != nullptr || error.has_value(); }
    };
    SharedFiles shared{};
    std::vector<Loaded> prefetched{}; ///< by file: read ahead, and not yet part of the checkpoint
    uint32_t sequenceRanks = 1; ///< the number of them that file names contain (sequence_names.h)

    void add(std::string_view code, Severity severity, std::string message, Place where,
        std::vector<std::string> evidence = {}) const
    {
        out.findings.push_back({code, severity, std::move(message), std::move(where), std::move(evidence)});
    }
    /// Whether it is a skeleton: values cannot be read, and do not count as missing.
    [[nodiscard]] bool hasNoValues() const;
    /// Records why the steps of a reader ended without a model; does nothing if they did not. Unsupported:
    /// the checkpoint is recognised, but not supported by this build, for the reason in the message. Only the
    /// first reason is kept, but Unsupported replaces others.
    void stop(const Status& steps) const;
    /// The same for Unsupported, where reading goes on.
    void refuse(std::string why) const;

    /// The parts of a file's name. Sequence-parallel ranks in it are ranks of model slice 0.
    [[nodiscard]] std::optional<CheckpointFileName> nameOf(const CheckpointFile& file) const
    {
        auto name = parseCheckpointFileName(file.name);
        if (name && sequenceRanks > 1)
            name->mp = 0;
        return name;
    }
    /// The number after `mp_rank_` in the name of a rank's file.
    [[nodiscard]] uint32_t modelRankInName(uint32_t dp) const
    {
        return sequenceRanks > 1 ? dp % sequenceRanks : out.modelRank;
    }

    [[nodiscard]] const TorchFile* content(FileId id) const
    {
        return id == kNoFile ? nullptr : out.files[index(id)].content.get();
    }
};

} // namespace shardscope
