// SPDX-License-Identifier: Apache-2.0
#include "ui/models/record_table_model.h"

#include "ui/models/model_roles.h"
#include "ui/text/text.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

void RecordTableModel::setList(RecordList list)
{
    beginResetModel();
    m_list = std::move(list);
    rebuild();
    endResetModel();
}

void RecordTableModel::setFilter(const QString& part)
{
    beginResetModel();
    m_filter = part.trimmed().toStdString();
    rebuild();
    endResetModel();
}

void RecordTableModel::rebuild()
{
    m_rows.clear();
    for (size_t i = 0; i < m_list.lines.size(); ++i) {
        const RecordLine& line = m_list.lines[i];
        if (m_filter.empty() || line.record.name.find(m_filter) != std::string::npos
            || line.usedBy.find(m_filter) != std::string::npos)
            m_rows.push_back(static_cast<uint32_t>(i));
    }
}

int RecordTableModel::rowOf(uint32_t record) const
{
    const auto found = std::lower_bound(m_rows.begin(), m_rows.end(), record);
    return found == m_rows.end() || *found != record ? -1 : static_cast<int>(found - m_rows.begin());
}

int RecordTableModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int RecordTableModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : int{ColumnCount};
}

QString RecordTableModel::textOf(const RecordLine& line, int column) const
{
    switch (column) {
    case Name:
        return toText(line.record.name);
    case Offset:
        return countText(line.record.payloadOffset);
    case End:
        return countText(line.record.payloadOffset + line.record.bytes);
    case Bytes:
        return bytesText(line.record.bytes);
    case Crc:
        return line.record.crcPresent ? u"%1"_s.arg(line.record.crc32, 8, 16, QLatin1Char('0'))
                                      : tr("not stored");
    default:
        return line.record.damaged ? tr("damaged")
            : line.usedBy.empty()  ? tr("not referenced")
                                   : toText(line.usedBy);
    }
}

QVariant RecordTableModel::data(const QModelIndex& at, int role) const
{
    if (!at.isValid())
        return {};
    const uint32_t record = recordAt(at.row());
    const RecordLine& line = m_list.lines[record];
    const int column = at.column();
    switch (role) {
    case Qt::DisplayRole:
        return textOf(line, column);
    case Qt::ToolTipRole:
        return column == Bytes ? exactBytesText(line.record.bytes)
            : column == Crc    ? tr("CRC-32 of the payload, as the file's directory says")
                               : textOf(line, column);
    case Qt::TextAlignmentRole:
        return column == Offset || column == End || column == Bytes
            ? QVariant(Qt::AlignRight | Qt::AlignVCenter)
            : QVariant(Qt::AlignLeft | Qt::AlignVCenter);
    case ShareRole:
        if (column != Bytes || m_list.maxBytes == 0)
            return {};
        return static_cast<double>(line.record.bytes) / static_cast<double>(m_list.maxBytes);
    case CopyRole:
        return column == Offset ? QString::number(line.record.payloadOffset)
            : column == End     ? QString::number(line.record.payloadOffset + line.record.bytes)
            : column == Bytes   ? QString::number(line.record.bytes)
                                : textOf(line, column);
    case SeverityRole:
        return column == UsedBy && line.record.damaged ? 2 : -1;
    case IdRole:
        return record;
    case MutedRole:
        return column == Crc || (column == UsedBy && line.usedBy.empty());
    default:
        return {};
    }
}

QVariant RecordTableModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal)
        return {};
    if (role == Qt::TextAlignmentRole)
        return section == Offset || section == End || section == Bytes
            ? QVariant(Qt::AlignRight | Qt::AlignVCenter)
            : QVariant(Qt::AlignLeft | Qt::AlignVCenter);
    if (role != Qt::DisplayRole)
        return {};
    switch (section) {
    case Name:
        return tr("Record");
    case Offset:
        return tr("First byte");
    case End:
        return tr("End");
    case Bytes:
        return tr("Size");
    case Crc:
        return tr("CRC-32");
    default:
        return tr("Used by");
    }
}

} // namespace shardscope::ui
