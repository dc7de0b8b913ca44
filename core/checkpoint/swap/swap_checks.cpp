// SPDX-License-Identifier: Apache-2.0
#include "core/base/finding_codes.h"
#include "core/checkpoint/swap/swap.h"
#include "core/checkpoint/swap/swap_windows.h"

#include <algorithm>
#include <memory>
#include <span>

namespace shardscope {

namespace {

constexpr size_t kMaxNamed = 8;

bool isSecondMoment(std::string_view state)
{
    return state == "exp_avg_sq" || state == "max_exp_avg_sq";
}

class ContentChecker
{
public:
    explicit ContentChecker(const Reading& reading)
        : m_reading(reading)
        , m_swap(reading)
        , m_other(reading)
    {
    }

    void check(const SwapSubject& subject, const SwappedState& state)
    {
        const auto windows = swapWindowsOf(*subject.unit, subject.rank);
        const StoredRun copy = swapCopyOf(m_reading, subject, state);
        bool negative = false;
        bool differs = false;
        for (const SwapWindow& window : windows) {
            const auto bytes = m_swap.read(state.run, window, state.dtype);
            if (bytes.empty())
                return;
            if (isSecondMoment(state.name))
                negative = negative || anyNegative(bytes, state.dtype);
            if (copy.isPresent())
                differs = differs || m_other.read(copy, window, state.dtype) != bytes;
        }
        if (negative)
            m_reading.add(code::kSwapMismatch, Severity::Error,
                "the swap file holds negative numbers where squares must be: it belongs to another tensor, "
                "or is damaged",
                placeOf(subject, state.name), {m_reading.out.file(state.run.file).name});
        if (!copy.isPresent())
            return;
        ++m_copies;
        m_different += differs ? 1 : 0;
        if (differs && m_named.size() < kMaxNamed)
            m_named.push_back("differs: " + formatAddress(placeOf(subject, state.name)));
    }

    void reportCopies()
    {
        if (m_copies == 0 || m_reading.salvage) // they are of another step
            return;
        if (m_different > m_named.size())
            m_named.push_back("and " + std::to_string(m_different - m_named.size()) + " more");
        m_reading.add(code::kSwapCopy, Severity::Info,
            "the optimizer files hold " + std::to_string(m_copies)
                + " tensors of sub-groups that are in swap files (pipelined swapping leaves them, of any "
                  "age); the swap files are used, and "
                + (m_different == 0 ? "none of the tensors" : std::to_string(m_different) + " of the tensors")
                + " differs from them",
            {}, std::move(m_named));
    }

private:
    static bool anyNegative(std::span<const uint8_t> bytes, DType dtype)
    {
        for (size_t at = 0; at < bytes.size(); at += itemSize(dtype)) {
            if (elementAsDouble(dtype, bytes.data() + at) < 0)
                return true;
        }
        return false;
    }

    const Reading& m_reading;
    SwapWindowReader m_swap;
    SwapWindowReader m_other;
    size_t m_copies = 0;
    size_t m_different = 0;
    std::vector<std::string> m_named;
};

/// The file of the same name among a rank's files in the checkpoint.
StoredRun savedRun(const Reading& reading, const SwapSubject& subject, const SwappedState& state)
{
    for (const SwapFolder& folder : reading.swapFolders) {
        if (folder.origin != SwapFolder::Origin::Checkpoint || folder.rank != subject.rank)
            continue;
        const SwapIndex files = indexSwapFolder(reading, folder);
        const auto found = files.find({state.name, subject.id});
        if (found != files.end()
            && reading.out.file(found->second).identity.bytes >= state.run.elements * itemSize(state.dtype))
            return {found->second, 0, 0, state.run.elements};
    }
    return {};
}

} // namespace

void checkSwapContents(const Reading& reading, const SwapMap& map, const std::vector<SwapSubject>& subjects)
{
    ContentChecker checker(reading);
    for (const SwapSubject& subject : subjects) {
        const SwapMap::States* states = map.find(subject.subgroup, subject.rank);
        for (size_t i = 0; states != nullptr && i < states->size() && !reading.job.cancelled(); ++i) {
            if ((*states)[i].run.isPresent())
                checker.check(subject, (*states)[i]);
        }
    }
    checker.reportCopies();
}

void checkLiveSwap(const Reading& reading, const SwapMap& map, const std::vector<SwapSubject>& subjects)
{
    SwapWindowReader live(reading);
    SwapWindowReader saved(reading);
    std::vector<std::string> evidence;
    const auto note = [&](std::string text) {
        if (evidence.size() < kMaxNamed)
            evidence.push_back(std::move(text));
    };
    for (const SwapSubject& subject : subjects) {
        const SwapMap::States* states = map.find(subject.subgroup, subject.rank);
        for (size_t i = 0; states != nullptr && i < states->size() && !reading.job.cancelled(); ++i) {
            const SwappedState& state = (*states)[i];
            if (!state.run.isPresent())
                continue;
            const StoredRun other = savedRun(reading, subject, state);
            const CheckpointFile& file = reading.out.file(state.run.file);
            if (other.isPresent()) {
                for (const SwapWindow& window : swapWindowsOf(*subject.unit, subject.rank)) {
                    if (live.read(state.run, window, state.dtype) == saved.read(other, window, state.dtype))
                        continue;
                    note(file.name + " is not " + reading.out.file(other.file).name);
                    break;
                }
            } else if (file.identity.modifiedNs > reading.out.file(subject.file).identity.modifiedNs) {
                note(file.name + " was written after " + reading.out.file(subject.file).name);
            }
        }
    }
    if (evidence.empty())
        return;
    evidence.emplace_back("--allow swap-mismatch uses it nevertheless; smaller sub-groups, steps and options "
                          "are still the checkpoint's");
    reading.add(code::kSwapMismatch, Severity::Error,
        "the run's swap folder is of another step than this checkpoint: the run continued after the save",
        "zero_stage_3", std::move(evidence));
}

} // namespace shardscope
