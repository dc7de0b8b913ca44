// SPDX-License-Identifier: Apache-2.0
#include "ui/models/record_table_model.h"

#include "ui/text/text.h"

using namespace Qt::StringLiterals;

namespace shardscope::ui {

RecordTableModel::RecordTableModel(QObject* parent)
    : ColumnTable(parent)
{
    const auto number = [this](const QString& title, uint64_t (*of)(const ZipRecord& record)) {
        Column column(title, [this, of](uint32_t record) { return countText(of(line(record).record)); });
        column.copy = [this, of](uint32_t record) { return QString::number(of(line(record).record)); };
        column.isNumber = true;
        return column;
    };
    const Column name(tr("Record"), [this](uint32_t record) { return toText(line(record).record.name); });
    const Column first
        = number(tr("First byte"), [](const ZipRecord& record) { return record.payloadOffset; });
    const Column end
        = number(tr("End"), [](const ZipRecord& record) { return record.payloadOffset + record.bytes; });
    Column size = number(tr("Size"), [](const ZipRecord& record) { return record.bytes; });
    size.text = [this](uint32_t record) { return bytesText(line(record).record.bytes); };
    size.tip = [this](uint32_t record) { return exactBytesText(line(record).record.bytes); };
    size.share = [this](uint32_t record) { return shareOf(line(record).record.bytes, m_list.maxBytes); };
    Column crc(tr("CRC-32"), [this](uint32_t record) {
        const ZipRecord& zip = line(record).record;
        return zip.crcPresent ? u"%1"_s.arg(zip.crc32, 8, 16, QLatin1Char('0')) : tr("not stored");
    });
    crc.tip = [](uint32_t) { return tr("CRC-32 of the payload, as the file's directory says"); };
    crc.muted = Column::always;
    Column use(tr("Used by"), [this](uint32_t record) { return useText(line(record)); });
    use.muted = [this](uint32_t record) { return line(record).usedBy.empty(); };
    use.severity = [this](uint32_t record) { return line(record).record.damaged ? 2 : -1; };
    setColumns({name, first, end, size, crc, use});
}

QString RecordTableModel::useText(const RecordLine& line) const
{
    return line.record.damaged ? tr("damaged")
        : line.usedBy.empty()  ? tr("not referenced")
                               : toText(line.usedBy);
}

void RecordTableModel::setList(RecordList list)
{
    m_list = std::move(list);
    rebuild();
}

void RecordTableModel::setFilter(const QString& part)
{
    m_filter = part.trimmed().toStdString();
    rebuild();
}

void RecordTableModel::rebuild()
{
    std::vector<uint32_t> rows;
    for (uint32_t i = 0; i < m_list.lines.size(); ++i)
        if (m_filter.empty() || line(i).record.name.find(m_filter) != std::string::npos
            || line(i).usedBy.find(m_filter) != std::string::npos)
            rows.push_back(i);
    setRows(std::move(rows));
}

} // namespace shardscope::ui
