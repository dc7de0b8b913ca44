// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/engine/parts/piece.h"
#include "core/plan/model/write_plan.h"

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope {

/// A plan reduced to some of its pieces, as plain data. Another process, on a machine that sees the same
/// files, writes these pieces from it without opening the source as a checkpoint.
///
/// Files, sources, tensors and source records have numbers of their own; toPlan() gives those of the plan.
/// Sources are checked by size, time of modification and a digest of both ends of the file, because device
/// and inode differ between machines. Immutable; thread-safe.
class StoredPlan
{
public:
    struct Stored {
        std::string text;
        std::vector<uint32_t> files; ///< of the plan, ascending: their places are the numbers here
        [[nodiscard]] uint32_t fileFor(uint32_t planFile) const;
    };
    /// `toWrite` and `toRead` are ascending. Files that are only read back are stored without a recipe.
    static Result<Stored> store(io::FileSystem& files, const WritePlan& plan,
        std::span<const FilePiece> toWrite, std::span<const FilePiece> toRead);
    /// Damaged if it is not what store() made.
    static Result<std::unique_ptr<StoredPlan>> parse(std::string_view bytes);

    /// SourceChanged if a source is not the one that was planned.
    Status checkSources(io::FileSystem& files) const;
    /// The numbers of the plan, and of this one for the same files.
    [[nodiscard]] PieceRecord toPlan(PieceRecord record) const;
    [[nodiscard]] FilePiece toPlan(FilePiece piece) const;
    [[nodiscard]] uint32_t fileFor(uint32_t planFile) const;

    /// With files, sources, tensors and recipes only.
    [[nodiscard]] const WritePlan& plan() const { return m_plan; }

private:
    StoredPlan() = default;

    WritePlan m_plan;
    std::vector<std::string> m_sourceEnds; ///< digests
    std::vector<uint32_t> m_planFiles; ///< ascending
    std::vector<uint32_t> m_planSources;
    std::vector<std::vector<uint32_t>> m_planRecords; ///< of each source
    std::vector<uint32_t> m_planTensors;
};

} // namespace shardscope
