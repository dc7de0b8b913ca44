// SPDX-License-Identifier: Apache-2.0
#pragma once

// Room ui/models: what views share: the selection, marks of parameters, colours of the map, and item models
// for explorer, files and details. Start with Selection.

#include "core/base/ids.h"

#include <QObject>
#include <QString>

#include <cstdint>
#include <optional>
#include <string>

namespace shardscope::ui {

/// The pages of the window, in the order of their tabs.
enum class PageId : uint8_t { Overview, Map, Parameters, Tensor, Files, Compare, Findings, Runs, Health };

/// A block of a unit's flat buffers: ranks [rankBegin, rankEnd) × elements [begin, end) of each rank's
/// buffer.
struct FlatBlock {
    uint32_t rankBegin = 0;
    uint32_t rankEnd = 0;
    uint64_t begin = 0;
    uint64_t end = 0;
    bool operator==(const FlatBlock&) const = default;
};

/// A selection. Every part is optional; the set parts belong together.
struct SelectedThing {
    ParamId param = kNoParam;
    std::optional<uint64_t> element; ///< of `param`, in its logical order
    std::string state; ///< "fp32", "exp_avg", …; empty: the unit's first
    std::optional<uint32_t> rank; ///< its number in the list of all ranks (rank_list.h)
    UnitId unit = kNoUnit;
    std::optional<FlatBlock> block; ///< inside `unit`
    bool isPadding = false; ///< the block is padding of a rank's buffer
    FileId file = kNoFile;
    std::optional<uint32_t> record; ///< index into the file's zip records
    std::optional<uint64_t> byte; ///< from the start of the file
    bool operator==(const SelectedThing&) const = default;

    [[nodiscard]] bool isEmpty() const { return *this == SelectedThing{}; }
};

/// The selection that all views show. Views share it and do not depend on each other.
///
/// Ids are positions in the current checkpoint; the window clears or translates the selection when another
/// one is shown. GUI thread only.
class Selection : public QObject
{
    Q_OBJECT
public:
    using QObject::QObject;

    [[nodiscard]] const SelectedThing& current() const { return m_current; }
    /// Selects; emits changed() only when it is something else.
    void select(SelectedThing thing);
    void selectParam(ParamId param);
    void selectRank(uint32_t rank);
    void selectFile(FileId file, std::optional<uint32_t> record = {}, std::optional<uint64_t> byte = {});
    void clear() { select({}); }

    /// The place under the pointer, in one line for the status bar; empty if there is none.
    void setHoverText(const QString& text);
    /// The sum of the selected elements, in one line for the status bar.
    void setSumText(const QString& text);

Q_SIGNALS:
    void changed(const shardscope::ui::SelectedThing& now);
    void hoverTextChanged(const QString& text);
    void sumTextChanged(const QString& text);
    /// A view requests another page in front.
    void pageRequested(shardscope::ui::PageId page);

private:
    SelectedThing m_current;
    QString m_hoverText;
    QString m_sumText;
};

} // namespace shardscope::ui
