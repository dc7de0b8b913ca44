// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QTimer>

#include <deque>
#include <functional>
#include <utility>

namespace shardscope::ui {

/// Work of the GUI thread that is done in the following events, one piece an event: input and painting come
/// between.
class OneAnEvent
{
public:
    OneAnEvent()
    {
        QObject::connect(&m_timer, &QTimer::timeout, &m_timer, [this] { doNext(); });
    }

    void add(std::function<void()> piece)
    {
        m_left.push_back(std::move(piece));
        if (!m_timer.isActive())
            m_timer.start();
    }
    void clear()
    {
        m_timer.stop();
        m_left.clear();
    }
    [[nodiscard]] bool isActive() const { return m_timer.isActive(); }

private:
    void doNext()
    {
        const auto next = std::move(m_left.front());
        m_left.pop_front();
        if (m_left.empty())
            m_timer.stop();
        next();
    }

    QTimer m_timer; ///< runs while m_left has something
    std::deque<std::function<void()>> m_left;
};

} // namespace shardscope::ui
