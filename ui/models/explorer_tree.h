// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/checkpoint/model/checkpoint.h"

#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace shardscope::ui {

/// Fold: neighbours that are built alike, such as the layers of a transformer. NoRank: all files that belong to
/// no rank. Settings keep these numbers.
enum class ExplorerKind : uint8_t { Section, Module, Fold, Param, Rank, File, Group, Unit, NoRank };

/// One line of the Explorer. Children of a node are next to each other.
struct ExplorerNode {
    ExplorerKind kind = ExplorerKind::Section;
    uint32_t id = 0; ///< ParamId, dp rank, FileId, group number, UnitId or number of a fold, by kind
    uint32_t parent = 0;
    uint32_t row = 0; ///< among its siblings
    uint32_t firstChild = 0;
    uint32_t childCount = 0;
    int8_t severity = -1; ///< -1 none, 1 not yet read or suspicious, 2 missing or damaged
    uint32_t params = 0; ///< below a module or group
    uint64_t bytes = 0;
    uint64_t lostBytes = 0; ///< not among `bytes`: no file has them
    std::string_view
        label; ///< raw bytes of the last name component, or a file's name; lives in the checkpoint
};

/// Modules (from dotted names), ranks, files and groups of one checkpoint as one array of nodes; nodes()[0]
/// is the invisible root. Built on a worker; immutable, thread-safe.
class ExplorerTree
{
public:
    /// Null when stopped.
    static std::shared_ptr<const ExplorerTree> build(CheckpointPtr checkpoint, const std::stop_token& token);

    [[nodiscard]] const std::vector<ExplorerNode>& nodes() const { return m_nodes; }
    /// The node of a selection, or 0.
    [[nodiscard]] uint32_t find(ExplorerKind kind, uint32_t id) const;
    /// "model.layers.3" for a module or parameter, "model.layers.{0–31}" for a fold.
    [[nodiscard]] std::string fullName(uint32_t node) const;
    /// "{0–31} × 32".
    [[nodiscard]] std::string foldLabel(uint32_t fold) const;

private:
    friend class ExplorerTreeBuilder;
    CheckpointPtr m_checkpoint; ///< keeps the labels alive
    std::vector<ExplorerNode> m_nodes;
    std::vector<uint32_t> m_paramNodes; ///< by ParamId
    struct Fold {
        std::string numbers; ///< "{0–11, 13–31}"
        size_t count = 0;
    };
    std::vector<Fold> m_folds;
};

using ExplorerTreePtr = std::shared_ptr<const ExplorerTree>;

} // namespace shardscope::ui
