// SPDX-License-Identifier: Apache-2.0
#include "ui/tensorview/element_places.h"

#include "ui/text/rank_list.h"
#include "ui/text/text.h"

#include <algorithm>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

constexpr size_t kMaxRuns = 65'536;

} // namespace

ElementPlaces::ElementPlaces(TensorSourcePtr source)
    : m_source(std::move(source))
{
    const Checkpoint& checkpoint = *m_source->checkpoint;
    const auto state = findState(checkpoint, m_source->param, m_source->state);
    if (!state)
        return;
    m_state = *state;
    if (state->whole != nullptr)
        return; // one file has all of it
    m_order = checkpoint.transposedOrder(m_source->param);
    forEachStoredFragmentOf(checkpoint, *state, 0, state->elements, [this](const Fragment& fragment) {
        const uint64_t end = fragment.paramOffset + fragment.elements;
        if (!m_runs.empty() && m_runs.back().rank == fragment.rank
            && m_runs.back().end == fragment.paramOffset)
            m_runs.back().end = end;
        else
            m_runs.push_back({fragment.paramOffset, end, fragment.rank});
        return m_runs.size() <= kMaxRuns;
    });
    if (m_runs.size() < 2 || m_runs.size() > kMaxRuns)
        m_runs.clear();
}

size_t ElementPlaces::runOf(uint64_t element) const
{
    if (m_runs.empty())
        return kNoRun;
    const uint64_t stored = m_order ? m_order->storedOf(element) : element;
    const auto after = std::upper_bound(m_runs.begin(), m_runs.end(), stored,
        [](uint64_t value, const Run& run) { return value < run.begin; });
    const auto at = static_cast<size_t>(after - m_runs.begin());
    return at == 0 || stored >= m_runs[at - 1].end ? kNoRun : at - 1;
}

QString ElementPlaces::rankText(size_t run) const
{
    return rankLabel(*m_source->checkpoint, m_runs[run].rank);
}

QString ElementPlaces::runText(uint64_t element) const
{
    const size_t run = runOf(element);
    if (run == kNoRun)
        return {};
    const Run& here = m_runs[run];
    const QString words = inOrder() ? u"%1 holds elements %2 to %3"_s
                                    : u"%1 holds elements %2 to %3, counted column by column"_s;
    return words.arg(rankText(run), countText(here.begin), countText(here.end - 1));
}

std::optional<Fragment> ElementPlaces::fragmentAt(uint64_t element) const
{
    std::optional<Fragment> out;
    if (m_state && element < m_state->elements)
        forEachFragmentOf(
            *m_source->checkpoint, *m_state, element, element + 1, [&](const Fragment& fragment) {
                if (fragment.file != kNoFile)
                    out = fragment;
                return false;
            });
    return out;
}

} // namespace shardscope::ui
