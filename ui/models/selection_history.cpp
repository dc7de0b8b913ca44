// SPDX-License-Identifier: Apache-2.0
#include "ui/models/selection_history.h"

namespace shardscope::ui {

void SelectionHistory::visit(HistoryPlace place)
{
    if (m_revisiting || (m_position >= 0 && m_places[static_cast<size_t>(m_position)] == place))
        return;
    m_places.resize(static_cast<size_t>(m_position + 1));
    m_places.push_back(std::move(place));
    if (m_places.size() > kMaxPlaces)
        m_places.erase(m_places.begin());
    m_position = static_cast<ptrdiff_t>(m_places.size()) - 1;
    Q_EMIT changed();
}

void SelectionHistory::clear()
{
    m_places.clear();
    m_position = -1;
    Q_EMIT changed();
}

void SelectionHistory::step(ptrdiff_t by)
{
    const ptrdiff_t target = m_position + by;
    if (target < 0 || target >= static_cast<ptrdiff_t>(m_places.size()))
        return;
    m_position = target;
    m_revisiting = true;
    const HistoryPlace place = m_places[static_cast<size_t>(target)];
    Q_EMIT revisit(place);
    m_revisiting = false;
    Q_EMIT changed();
}

} // namespace shardscope::ui
