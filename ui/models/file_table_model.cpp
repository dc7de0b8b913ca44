// SPDX-License-Identifier: Apache-2.0
#include "ui/models/file_table_model.h"

#include "core/base/text.h"
#include "ui/models/model_roles.h"
#include "ui/text/rank_list.h"
#include "ui/text/text.h"
#include "ui/text/unreadable.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

std::string lowered(std::string text)
{
    for (char& byte : text)
        if (byte >= 'A' && byte <= 'Z')
            byte = static_cast<char>(byte - 'A' + 'a');
    return text;
}

uint64_t rankKey(const CheckpointFile& file)
{
    return file.rank ? (uint64_t{file.rank->pp} << 42) + (uint64_t{file.rank->tp} << 21) + file.rank->dp + 1
                     : 0;
}

} // namespace

void FileTableModel::setCheckpoint(CheckpointPtr checkpoint)
{
    beginResetModel();
    m_checkpoint = std::move(checkpoint);
    rebuild();
    endResetModel();
}

void FileTableModel::setFilter(const QString& part)
{
    beginResetModel();
    m_filter = lowered(part.trimmed().toStdString());
    rebuild();
    endResetModel();
}

void FileTableModel::sort(int column, Qt::SortOrder order)
{
    beginResetModel();
    m_sortColumn = column;
    m_sortOrder = order;
    rebuild();
    endResetModel();
}

void FileTableModel::rebuild()
{
    m_rows.clear();
    m_maxBytes = 0;
    if (!m_checkpoint)
        return;
    const std::vector<CheckpointFile>& files = m_checkpoint->files;
    for (size_t i = 0; i < files.size(); ++i) {
        m_maxBytes = std::max(m_maxBytes, files[i].identity.bytes);
        if (m_filter.empty() || lowered(files[i].name).find(m_filter) != std::string::npos)
            m_rows.push_back(FileId{static_cast<uint32_t>(i)});
    }
    if (m_sortColumn < 0)
        return;
    const auto less = [&](const CheckpointFile& a, const CheckpointFile& b) {
        switch (m_sortColumn) {
        case Role:
            return a.role < b.role;
        case Rank:
            return rankKey(a) < rankKey(b);
        case Bytes:
            return a.identity.bytes < b.identity.bytes;
        case Records:
            return a.recordCount < b.recordCount;
        case StatusColumn:
            return a.status < b.status;
        default:
            return compareNaturally(a.name, b.name) < 0;
        }
    };
    std::stable_sort(m_rows.begin(), m_rows.end(), [&](FileId left, FileId right) {
        const CheckpointFile& a = m_checkpoint->file(left);
        const CheckpointFile& b = m_checkpoint->file(right);
        return m_sortOrder == Qt::AscendingOrder ? less(a, b) : less(b, a);
    });
}

int FileTableModel::rowOf(FileId file) const
{
    const auto found = std::find(m_rows.begin(), m_rows.end(), file);
    return found == m_rows.end() ? -1 : static_cast<int>(found - m_rows.begin());
}

FileCounts FileTableModel::shown() const
{
    FileCounts counts;
    for (const FileId file : m_rows)
        counts.add(m_checkpoint->file(file));
    return counts;
}

int FileTableModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int FileTableModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : int{ColumnCount};
}

QString FileTableModel::textOf(FileId id, int column) const
{
    const CheckpointFile& file = m_checkpoint->file(id);
    const bool missing = file.status == FileStatus::Missing;
    switch (column) {
    case Name:
        return toText(file.name);
    case Role:
        return roleText(file.role);
    case Rank:
        return file.rank ? rankLabel(*m_checkpoint, *file.rank) : u"–"_s;
    case Bytes:
        return missing ? u"–"_s : bytesText(file.identity.bytes);
    case Records:
        return file.recordCount == 0 ? u"–"_s : countText(file.recordCount);
    default:
        return fileStatusText(*m_checkpoint, id);
    }
}

QVariant FileTableModel::data(const QModelIndex& at, int role) const
{
    if (!at.isValid())
        return {};
    const FileId id = fileAt(at.row());
    const CheckpointFile& file = m_checkpoint->file(id);
    const int column = at.column();
    switch (role) {
    case Qt::DisplayRole:
        return textOf(id, column);
    case Qt::ToolTipRole:
        return column == Bytes ? exactBytesText(file.identity.bytes)
            : column == Name   ? pathText(file.path)
                               : textOf(id, column);
    case Qt::TextAlignmentRole:
        return column == Bytes || column == Records ? QVariant(Qt::AlignRight | Qt::AlignVCenter)
                                                    : QVariant(Qt::AlignLeft | Qt::AlignVCenter);
    case ShareRole:
        if (column != Bytes || m_maxBytes == 0)
            return {};
        return static_cast<double>(file.identity.bytes) / static_cast<double>(m_maxBytes);
    case CopyRole:
        return column == Bytes ? QString::number(file.identity.bytes)
            : column == Name   ? pathText(file.path)
                               : textOf(id, column);
    case SeverityRole:
        if (column != StatusColumn)
            return -1;
        return file.status == FileStatus::Missing || file.status == FileStatus::Damaged ? 2
            : file.status == FileStatus::Stale || file.status == FileStatus::Foreign    ? 1
                                                                                        : -1;
    case IdRole:
        return shardscope::index(id);
    case MutedRole:
        return column != Name && column != Bytes && column != StatusColumn;
    default:
        return {};
    }
}

QVariant FileTableModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal)
        return {};
    if (role == Qt::TextAlignmentRole)
        return section == Bytes || section == Records ? QVariant(Qt::AlignRight | Qt::AlignVCenter)
                                                      : QVariant(Qt::AlignLeft | Qt::AlignVCenter);
    if (role != Qt::DisplayRole)
        return {};
    switch (section) {
    case Name:
        return tr("File");
    case Role:
        return tr("Role");
    case Rank:
        return tr("Rank");
    case Bytes:
        return tr("Size");
    case Records:
        return tr("Records");
    default:
        return tr("Status");
    }
}

} // namespace shardscope::ui
