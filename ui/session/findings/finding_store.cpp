// SPDX-License-Identifier: Apache-2.0
#include "ui/session/findings/finding_store.h"

#include "ui/session/check_run.h"

#include <string>
#include <unordered_set>

namespace shardscope::ui {

namespace {

std::string keyOf(const Finding& finding)
{
    return std::string(finding.code) + '\n' + finding.where.text() + '\n' + finding.message;
}

} // namespace

FindingStore::FindingStore(CheckRun& run, QObject* parent)
    : QObject(parent)
    , m_run(run)
    , m_values(run.files())
{
    connect(&run, &CheckRun::changed, this, [this] {
        release();
        takeValues();
        Q_EMIT changed();
    });
}

void FindingStore::takeValues()
{
    const auto& result = m_run.result();
    if (result == m_valuesOf)
        return;
    m_valuesOf = result;
    if (result && result->checkpoint && result->bytes)
        m_values.take(result->checkpoint, result->bytes);
}

bool FindingStore::isReadingValues(const Checkpoint& checkpoint) const
{
    return m_run.isRunning() && !m_run.isStopping() && m_run.depth() == CheckDepth::Bytes
        && isChecked(checkpoint);
}

void FindingStore::release()
{
    m_checkpoint.reset();
    m_detailed.reset();
    m_findings.reset();
}

bool FindingStore::isChecked(const Checkpoint& checkpoint) const
{
    const auto& result = m_run.result();
    if (result && result->checkpoint)
        return result->checkpoint->tagFolder == checkpoint.tagFolder;
    return !m_run.place().tagFolder.empty() && m_run.place().tagFolder == checkpoint.tagFolder;
}

void FindingStore::collect(const CheckpointPtr& checkpoint) const
{
    if (m_detailed && m_checkpoint == checkpoint)
        return;
    const bool checked = isChecked(*checkpoint);
    std::vector<DoctorFinding> found;
    if (checked && m_run.result()) {
        found = m_run.result()->findings;
    } else {
        if (checked)
            found = m_run.findings();
        std::unordered_set<std::string> known;
        for (const DoctorFinding& made : found)
            known.insert(keyOf(made.finding));
        for (const Finding& finding : checkpoint->findings) {
            if (known.insert(keyOf(finding)).second)
                found.push_back({finding, &diagnosisOf(finding.code), {}, CheckDepth::Metadata});
        }
    }
    auto plain = std::make_shared<std::vector<Finding>>();
    plain->reserve(found.size());
    for (const DoctorFinding& made : found)
        plain->push_back(made.finding);
    m_checkpoint = checkpoint;
    m_detailed = std::make_shared<const std::vector<DoctorFinding>>(std::move(found));
    m_findings = std::move(plain);
}

FindingStore::DetailedFindings FindingStore::detailed(const CheckpointPtr& checkpoint) const
{
    collect(checkpoint);
    return m_detailed;
}

FindingStore::Findings FindingStore::of(const CheckpointPtr& checkpoint) const
{
    collect(checkpoint);
    return m_findings;
}

std::array<size_t, 3> countBySeverity(const std::vector<DoctorFinding>& findings)
{
    std::array<size_t, 3> counts{};
    for (const DoctorFinding& made : findings)
        ++counts[static_cast<size_t>(made.finding.severity)];
    return counts;
}

} // namespace shardscope::ui
