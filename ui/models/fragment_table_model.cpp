// SPDX-License-Identifier: Apache-2.0
#include "ui/models/fragment_table_model.h"

#include "ui/text/rank_list.h"
#include "ui/text/text.h"
#include "ui/text/unreadable.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

FragmentTableModel::FragmentTableModel(QObject* parent)
    : ColumnTable(parent)
{
    const auto isMissing = [this](uint32_t row) { return at(row).file == kNoFile; };
    // In the column that is never hidden.
    Column rank(tr("Rank"), [=, this](uint32_t row) {
        const QString text = rankText(at(row));
        return isMissing(row) ? QString(text % u" · "_s % lossText(*m_checkpoint, at(row))) : text;
    });
    rank.severity = [=](uint32_t row) { return isMissing(row) ? 2 : -1; };
    Column elements(tr("Elements"), [this](uint32_t row) {
        const uint64_t first = at(row).paramOffset;
        return (at(row).columnMajor ? tr("%1 to %2 by columns") : tr("%1 to %2"))
            .arg(countText(first), countText(first + std::max<uint64_t>(at(row).elements, 1) - 1));
    });
    Column flat(tr("Flat offset"),
        [this](uint32_t row) { return at(row).unit == kNoUnit ? u"–"_s : countText(at(row).flatOffset); });
    Column byte(tr("Byte"),
        [=, this](uint32_t row) { return isMissing(row) ? u"–"_s : countText(at(row).byteOffset); });
    for (Column* column : {&elements, &flat, &byte})
        column->isNumber = true;
    Column file(tr("File"), [=, this](uint32_t row) {
        return isMissing(row) ? lossText(*m_checkpoint, at(row))
                              : toText(m_checkpoint->file(at(row).file).name);
    });
    file.severity = rank.severity;
    setColumns({rank, elements, flat, byte, file});
}

void FragmentTableModel::setFragments(CheckpointPtr checkpoint, std::vector<Fragment> fragments)
{
    reset([&] {
        m_checkpoint = std::move(checkpoint);
        m_fragments = std::move(fragments);
        m_rows = firstNumbers(m_fragments.size());
    });
}

QString FragmentTableModel::rankText(const Fragment& fragment) const
{
    if (fragment.unit == kNoUnit)
        return tr("whole");
    return m_checkpoint->parts.empty() ? QString::number(fragment.rank.dp)
                                       : rankLabel(*m_checkpoint, fragment.rank);
}

} // namespace shardscope::ui
