// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/models/selection.h"

#include <QObject>

#include <vector>

namespace shardscope::ui {

/// One place of a walk through a checkpoint.
struct HistoryPlace {
    SelectedThing thing;
    PageId page = PageId::Overview; ///< in front
    QString filter;
    bool operator==(const HistoryPlace&) const = default;
};

/// Back and forward, as in a browser: selection, page and filter. GUI thread only.
class SelectionHistory : public QObject
{
    Q_OBJECT
public:
    static constexpr size_t kMaxPlaces = 200;

    using QObject::QObject;

    /// Adds a place and drops the forward entries. Ignored while a previous place is being shown again.
    void visit(HistoryPlace place);
    void clear();
    void back() { step(-1); }
    void forward() { step(1); }
    [[nodiscard]] bool canGoBack() const { return m_position > 0; }
    [[nodiscard]] bool canGoForward() const
    {
        return m_position + 1 < static_cast<ptrdiff_t>(m_places.size());
    }

Q_SIGNALS:
    void changed();
    /// Show this place again; visit() calls made while handling it are ignored.
    void revisit(const shardscope::ui::HistoryPlace& place);

private:
    void step(ptrdiff_t by);

    std::vector<HistoryPlace> m_places;
    ptrdiff_t m_position = -1;
    bool m_revisiting = false;
};

} // namespace shardscope::ui
