// SPDX-License-Identifier: Apache-2.0
#include "ui/tensorview/long_scroll.h"

#include <QScrollBar>
#include <QSignalBlocker>

#include <algorithm>
#include <utility>

namespace shardscope::ui {

namespace {

constexpr uint64_t kMaxSteps = uint64_t{1} << 30;

} // namespace

void LongScroll::setLines(uint64_t lines, uint64_t seen)
{
    m_lines = lines;
    m_seen = std::max<uint64_t>(seen, 1);
    m_step = last() / kMaxSteps + 1;
    m_first = std::min(m_first, last());
    const QSignalBlocker blocker(m_bar);
    m_bar->setRange(0, static_cast<int>((last() + m_step - 1) / m_step));
    m_bar->setPageStep(static_cast<int>(std::clamp<uint64_t>(m_seen / m_step, 1, kMaxSteps)));
    m_bar->setSingleStep(1);
    showBar();
}

void LongScroll::showBar()
{
    const QSignalBlocker blocker(m_bar);
    m_bar->setValue(m_first >= last() ? m_bar->maximum() : static_cast<int>(m_first / m_step));
}

void LongScroll::setFirst(uint64_t line)
{
    m_first = std::min(line, last());
    showBar();
}

void LongScroll::scrollBy(int64_t lines)
{
    if (lines < 0)
        setFirst(m_first - std::min(m_first, static_cast<uint64_t>(-lines)));
    else
        setFirst(m_first + std::min(last() - m_first, static_cast<uint64_t>(lines)));
}

void LongScroll::reveal(uint64_t line)
{
    if (line < m_first)
        setFirst(line);
    else if (line >= m_first + m_seen)
        setFirst(line - m_seen + 1);
}

void LongScroll::centre(uint64_t line)
{
    setFirst(line - std::min(line, m_seen / 2));
}

bool LongScroll::takeBar()
{
    const uint64_t now = m_bar->value() >= m_bar->maximum()
        ? last()
        : std::min(static_cast<uint64_t>(m_bar->value()) * m_step, last());
    return std::exchange(m_first, now) != now;
}

} // namespace shardscope::ui
