// SPDX-License-Identifier: Apache-2.0
#include "ui/models/file_table_model.h"

#include "core/base/text.h"
#include "ui/text/rank_list.h"
#include "ui/text/role_text.h"
#include "ui/text/text.h"
#include "ui/text/unreadable.h"

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

uint64_t rankKey(const CheckpointFile& file)
{
    return file.rank ? (uint64_t{file.rank->pp} << 42) + (uint64_t{file.rank->tp} << 21) + file.rank->dp + 1
                     : 0;
}

} // namespace

FileTableModel::FileTableModel(QObject* parent)
    : ColumnTable(parent)
{
    const auto by = [this](auto key) {
        return [this, key](FileId a, FileId b) { return key(file(a)) < key(file(b)); };
    };
    Column name(tr("File"), [this](FileId id) { return toText(file(id).name); });
    name.copy = [this](FileId id) { return pathText(file(id).path); };
    name.tip = [this](FileId id) {
        const QString found = markAt(id).text();
        return found.isEmpty() ? pathText(file(id).path) : QString(pathText(file(id).path) % u'\n' % found);
    };
    name.severity = [this](FileId id) { return std::max(statusSeverity(id), markAt(id).severity); };
    name.less = [this](FileId a, FileId b) { return compareNaturally(file(a).name, file(b).name) < 0; };
    Column role(tr("Role"), [this](FileId id) { return fileRoleText(*m_checkpoint, file(id).role); });
    role.muted = Column::always;
    role.less = by([](const CheckpointFile& file) { return file.role; });
    Column rank(tr("Rank"), [this](FileId id) {
        const auto number = rankOfFile(*m_checkpoint, file(id));
        return number ? rankLabel(*m_checkpoint, rankAt(*m_checkpoint, *number)) : u"–"_s;
    });
    rank.muted = Column::always;
    rank.less = by(rankKey);
    Column size(tr("Size"), [this](FileId id) {
        return file(id).status == FileStatus::Missing ? u"–"_s : bytesText(file(id).identity.bytes);
    });
    size.tip = [this](FileId id) { return exactBytesText(file(id).identity.bytes); };
    size.copy = [this](FileId id) { return QString::number(file(id).identity.bytes); };
    size.isNumber = true;
    size.share = [this](FileId id) { return shareOf(file(id).identity.bytes, m_maxBytes); };
    size.less = by([](const CheckpointFile& file) { return file.identity.bytes; });
    Column records(tr("Records"),
        [this](FileId id) { return file(id).recordCount == 0 ? u"–"_s : countText(file(id).recordCount); });
    records.isNumber = true;
    records.muted = Column::always;
    records.less = by([](const CheckpointFile& file) { return file.recordCount; });
    Column status(tr("Status"), [this](FileId id) { return fileStatusText(*m_checkpoint, id); });
    status.severity = [this](FileId id) { return statusSeverity(id); };
    status.less = by([](const CheckpointFile& file) { return file.status; });
    setColumns({name, status, role, rank, size, records}); // the status is seen in narrow windows, too
}

int FileTableModel::statusSeverity(FileId id) const
{
    switch (file(id).status) {
    case FileStatus::Missing:
    case FileStatus::Damaged:
        return 2;
    case FileStatus::Stale:
    case FileStatus::Foreign:
        return 1;
    default:
        return -1;
    }
}

void FileTableModel::setFindings(FindingPlacesPtr findings)
{
    m_findings = std::move(findings);
    if (rowCount() > 0)
        Q_EMIT dataChanged(index(0, Name), index(rowCount() - 1, Name), {SeverityRole, Qt::ToolTipRole});
}

FindingMark FileTableModel::markAt(FileId id) const
{
    const bool isOfThis = m_findings && &m_findings->checkpoint() == m_checkpoint.get();
    return isOfThis ? markOf(*m_findings, m_findings->ofFile(id)) : FindingMark();
}

void FileTableModel::setCheckpoint(CheckpointPtr checkpoint)
{
    m_checkpoint = std::move(checkpoint);
    rebuild();
}

std::vector<FilterTerm> FileTableModel::terms()
{
    using enum FilterTerm::Values;
    return {
        {u"role"_s, Text,
            {u"optimizer"_s, u"model"_s, u"layer"_s, u"expert"_s, u"tensors"_s, u"metadata"_s, u"other"_s},
            u"what it holds: role:optimizer"_s},
        {u"status"_s, Text, {u"ok"_s, u"missing"_s, u"damaged"_s, u"unreadable"_s, u"stale"_s, u"foreign"_s},
            u"as the column says: status:missing"_s},
        {u"rank"_s, Number, {}, u"the file of this rank: rank:3"_s},
        {u"size"_s, Number, {}, u"bytes: size>1M"_s},
        {u"records"_s, Number, {}, u"records of the archive: records>100"_s}};
}

void FileTableModel::setFilter(const QString& text)
{
    m_filter = FilterText::read(text, terms());
    rebuild();
}

bool FileTableModel::keeps(FileId id) const
{
    const CheckpointFile& of = file(id);
    return m_filter.keeps([&](const FilterWord& word) { return word.matches(loweredBytes(of.name)); },
        [&](const FilterWord& word) {
            if (word.key == "role"_L1)
                return word.takes(fileRoleText(*m_checkpoint, of.role).toLower());
            if (word.key == "status"_L1)
                return word.takes(fileStatusText(*m_checkpoint, id).toLower());
            if (word.key == "rank"_L1)
                return of.rank && word.takes(uint64_t{rankNumber(*m_checkpoint, *of.rank)});
            return word.takes(word.key == "size"_L1 ? of.identity.bytes : uint64_t{of.recordCount});
        });
}

void FileTableModel::sort(int column, Qt::SortOrder order)
{
    m_sortColumn = column < 0 ? int{Name} : column; // a missing file is where it would be
    m_sortOrder = order;
    rebuild();
}

void FileTableModel::rebuild()
{
    std::vector<FileId> rows;
    m_maxBytes = 0;
    for (uint32_t i = 0; m_checkpoint && i < m_checkpoint->files.size(); ++i) {
        m_maxBytes = std::max(m_maxBytes, file(FileId{i}).identity.bytes);
        if (keeps(FileId{i}))
            rows.push_back(FileId{i});
    }
    setRows(sortedBy(m_sortColumn, m_sortOrder, std::move(rows)));
}

FileCounts FileTableModel::shown() const
{
    FileCounts counts;
    for (const FileId id : m_rows)
        counts.add(file(id));
    return counts;
}

} // namespace shardscope::ui
