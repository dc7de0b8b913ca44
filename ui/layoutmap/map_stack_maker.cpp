// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/map_stack_maker.h"

#include "ui/jobs/free_later.h"

#include <algorithm>

namespace shardscope::ui {

void MapStackMaker::setCheckpoint(CheckpointPtr checkpoint, MapLooksPtr looks)
{
    const size_t sectionsBefore = m_looks->sections.size();
    m_checkpoint = std::move(checkpoint);
    if (!m_checkpoint)
        m_looks = std::make_shared<const MapLooks>();
    else
        m_looks = looks && looks->source == m_checkpoint.get() ? std::move(looks) : mapLooks(*m_checkpoint);
    m_names = m_checkpoint ? freedOnWorker(std::make_shared<const MapNames>(m_checkpoint)) : nullptr;
    m_findings.clear();
    m_fileStack.reset();
    if (m_looks->sections.size() != sectionsBefore) {
        m_subject.section.reset();
    }
    m_nameReader.cancel();
    if (!m_names || m_names->isRead()) {
        return;
    }
    m_nameReader.run<bool>(
        [names = m_names](const std::stop_token&, const std::function<void(bool)>& deliver) {
            names->readAhead();
            deliver(true);
        },
        [this](bool) { Q_EMIT namesRead(); });
}

bool MapStackMaker::setFindings(std::vector<Finding> findings)
{
    const bool any = !findings.empty() || !m_findings.empty();
    m_findings = std::move(findings);
    return any;
}

bool MapStackMaker::hasState(std::string_view state) const
{
    return std::find(m_looks->sectionStates.begin(), m_looks->sectionStates.end(), state)
        != m_looks->sectionStates.end();
}

std::vector<MapLayout::Size> MapStackMaker::sizesOf(const MapStackPtr& stack) const
{
    return stack ? stack->sizes(m_beside.get()) : std::vector<MapLayout::Size>{};
}

bool MapStackMaker::needsWorker() const
{
    if (m_subject.files)
        return !m_fileStack;
    constexpr uint64_t kPartsAtOnce = 2000; // a few milliseconds
    uint64_t parts = 0;
    for (const MapSectionContent& content : m_looks->sections) {
        parts += content.tensors.size() + content.units.size();
        // A unit of several in a row costs as much as another one for every few of its ranks.
        if (content.units.size() > 1) {
            const FlatUnit& unit = m_checkpoint->units[index(content.units.front())];
            parts += content.units.size() * unit.partition.ranks() / 8;
        }
    }
    return parts > kPartsAtOnce;
}

void MapStackMaker::make(bool keepZoom)
{
    m_maker.cancel();
    if (m_looks->sections.empty()) {
        m_shown = nullptr;
        Q_EMIT made(nullptr, false);
        return;
    }
    if (!hasState(m_subject.state)) {
        m_subject.state = m_looks->sectionStates.front();
    }
    const auto make = [checkpoint = m_checkpoint, subject = m_subject,
                          shared = MapSource::Shared{.looks = m_looks, .names = m_names},
                          findings = m_findings](const std::stop_token& token) {
        return subject.files
            ? std::make_shared<const MapStack>(std::make_shared<const FileRows>(checkpoint, token), shared)
            : std::make_shared<const MapStack>(checkpoint, subject, shared, findings);
    };
    const auto show = [this, keepZoom, shown = m_checkpoint.get()](const MapStackPtr& stack) {
        m_shown = shown;
        if (stack->files())
            m_fileStack = stack;
        Q_EMIT made(stack, keepZoom);
    };
    if (!needsWorker()) {
        show(m_subject.files ? m_fileStack : make({}));
        return;
    }
    if (m_shown != nullptr && m_shown != m_checkpoint.get()) {
        m_shown = nullptr;
        Q_EMIT made(nullptr, false);
    }
    m_maker.run<MapStackPtr>([make](const std::stop_token& token,
                                 const std::function<void(MapStackPtr)>& deliver) { deliver(make(token)); },
        show);
}

} // namespace shardscope::ui
