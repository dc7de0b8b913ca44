// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

class QScrollBar;

namespace shardscope::ui {

/// A scroll bar over more lines than an int counts: beyond 2^30 lines a step of the bar is several of them.
class LongScroll
{
public:
    explicit LongScroll(QScrollBar* bar)
        : m_bar(bar)
    {
    }

    /// Lines in all, and how many are seen at once. Keeps the first one where it can.
    void setLines(uint64_t lines, uint64_t seen);
    [[nodiscard]] uint64_t first() const { return m_first; }
    [[nodiscard]] uint64_t lines() const { return m_lines; }
    /// Moves so that `line` is the first, as far as there are lines.
    void setFirst(uint64_t line);
    void scrollBy(int64_t lines);
    /// Moves as little as it takes for `line` to be seen.
    void reveal(uint64_t line);
    /// Moves so that `line` is in the middle, as far as there are lines.
    void centre(uint64_t line);
    /// Takes the bar's position after any move. False if the position did not change.
    bool takeBar();

private:
    [[nodiscard]] uint64_t last() const { return m_lines > m_seen ? m_lines - m_seen : 0; }
    void showBar();

    QScrollBar* m_bar;
    uint64_t m_lines = 0;
    uint64_t m_seen = 1;
    uint64_t m_first = 0;
    uint64_t m_step = 1; ///< lines per step of the bar
};

} // namespace shardscope::ui
