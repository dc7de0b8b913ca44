// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/models/column_table.h"
#include "ui/models/record_list.h"

namespace shardscope::ui {

/// Records of one file with their byte ranges; filtered by a part of the name or of the use.
class RecordTableModel : public ColumnTable<uint32_t>
{
    Q_OBJECT
public:
    enum { Name, Offset, End, Bytes, Crc, UsedBy };

    explicit RecordTableModel(QObject* parent = nullptr);

    void setList(RecordList list);
    void setFilter(const QString& part);
    [[nodiscard]] const RecordList& list() const { return m_list; }

private:
    void rebuild();
    [[nodiscard]] const RecordLine& line(uint32_t record) const { return m_list.lines[record]; }
    [[nodiscard]] QString useText(const RecordLine& line) const;

    RecordList m_list;
    std::string m_filter;
};

} // namespace shardscope::ui
