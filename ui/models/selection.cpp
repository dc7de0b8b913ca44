// SPDX-License-Identifier: Apache-2.0
#include "ui/models/selection.h"

namespace shardscope::ui {

void Selection::select(SelectedThing thing)
{
    if (thing == m_current)
        return;
    m_current = std::move(thing);
    setSumText({}); // clears the previous sum; the view with the new sum sets it later
    Q_EMIT changed(m_current);
}

void Selection::selectParam(ParamId param)
{
    SelectedThing thing;
    thing.param = param;
    select(std::move(thing));
}

void Selection::selectRank(uint32_t rank)
{
    SelectedThing thing;
    thing.rank = rank;
    select(std::move(thing));
}

void Selection::selectFile(FileId file, std::optional<uint32_t> record, std::optional<uint64_t> byte)
{
    SelectedThing thing;
    thing.file = file;
    thing.record = record;
    thing.byte = byte;
    select(std::move(thing));
}

void Selection::setHoverText(const QString& text)
{
    if (text == m_hoverText)
        return;
    m_hoverText = text;
    Q_EMIT hoverTextChanged(text);
}

void Selection::setSumText(const QString& text)
{
    if (text == m_sumText)
        return;
    m_sumText = text;
    Q_EMIT sumTextChanged(text);
}

} // namespace shardscope::ui
