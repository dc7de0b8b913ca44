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
class StoredPlan final : public WritePlan
{
public:
    /// `toWrite` and `toRead` are ascending. Files that are only read back are stored without a recipe.
    static Result<std::string> store(io::FileSystem& files, const WritePlan& plan,
        std::span<const FilePiece> toWrite, std::span<const FilePiece> toRead);
    /// Damaged if it is not what store() made.
    static Result<std::unique_ptr<StoredPlan>> parse(std::string_view bytes);

    /// SourceChanged if a source is not the one that was planned.
    Status checkSources(io::FileSystem& files) const;
    /// The numbers of the plan, and of this one for the same files.
    [[nodiscard]] PieceRecord toPlan(PieceRecord record) const;
    [[nodiscard]] FilePiece toPlan(FilePiece piece) const;
    [[nodiscard]] uint32_t fileFor(uint32_t planFile) const;

    [[nodiscard]] std::string verb() const override { return "part"; }
    [[nodiscard]] std::string id() const override { return {}; }
    [[nodiscard]] std::string targetName() const override { return {}; }
    [[nodiscard]] std::string pointerName() const override { return {}; }
    [[nodiscard]] const std::vector<PlanSource>& sources() const override { return m_sources; }
    [[nodiscard]] const std::vector<PlanTensor>& tensors() const override { return m_tensors; }
    [[nodiscard]] const std::vector<PlannedFile>& files() const override { return m_files; }
    [[nodiscard]] Result<OutputFile> recipe(size_t i) const override { return m_recipes[i]; }
    [[nodiscard]] std::vector<OutputFile> runFolderFiles() const override { return {}; }
    [[nodiscard]] uint64_t readsBytes() const override { return 0; }
    [[nodiscard]] uint64_t writesBytes() const override { return 0; }
    [[nodiscard]] std::string describeJson() const override { return "{}"; }
    [[nodiscard]] const std::vector<Finding>& warnings() const override { return m_warnings; }

private:
    StoredPlan() = default;

    std::vector<PlanSource> m_sources;
    std::vector<std::string> m_sourceEnds; ///< digests
    std::vector<PlanTensor> m_tensors;
    std::vector<PlannedFile> m_files;
    std::vector<OutputFile> m_recipes;
    std::vector<Finding> m_warnings;
    std::vector<uint32_t> m_planFiles; ///< ascending
    std::vector<uint32_t> m_planSources;
    std::vector<std::vector<uint32_t>> m_planRecords; ///< of each source
    std::vector<uint32_t> m_planTensors;
};

} // namespace shardscope
