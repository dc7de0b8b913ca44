// SPDX-License-Identifier: Apache-2.0
#include "core/layout/file_extents.h"

#include "core/base/checked.h"

#include <algorithm>
#include <tuple>

namespace shardscope {

FileExtents::FileExtents(const Checkpoint& checkpoint, const std::stop_token& token)
{
    for (uint32_t u = 0; u < checkpoint.units.size(); ++u) {
        const FlatUnit& unit = checkpoint.units[u];
        for (const UnitState& state : unit.states) {
            if (token.stop_requested())
                break;
            const uint32_t number = stateNumber(state.name);
            state.visitRuns([&](const MappedRun& mapped) {
                const ParamId param = mapped.param ? unit.params[*mapped.param] : kNoParam;
                addRun(mapped.run, state.dtype,
                    {.unit = UnitId{u}, .state = number, .share = mapped.share, .param = param});
                return !token.stop_requested();
            });
        }
    }
    for (const WholeTensor& tensor : checkpoint.whole) {
        if (token.stop_requested())
            break;
        addRun(tensor.run, tensor.dtype, {.state = stateNumber(tensor.state), .param = tensor.param});
    }
    std::sort(m_extents.begin(), m_extents.end(), [](const FileExtent& a, const FileExtent& b) {
        return std::tuple(index(a.file), a.begin, a.end, a.state)
            < std::tuple(index(b.file), b.begin, b.end, b.state);
    });
    m_begins.assign(checkpoint.files.size() + 1, 0);
    for (const FileExtent& extent : m_extents)
        ++m_begins[index(extent.file) + size_t{1}];
    for (size_t i = 1; i < m_begins.size(); ++i)
        m_begins[i] += m_begins[i - 1];
}

void FileExtents::addRun(const StoredRun& run, DType dtype, FileExtent extent)
{
    const auto bytes = checkedMultiply(run.elements, uint64_t{itemSize(dtype)});
    if (!run.isPresent() || run.record == StoredRun::kNoRecord || !bytes || *bytes == 0)
        return;
    const auto end = checkedAdd(run.byteOffset, *bytes);
    if (!end)
        return;
    extent.file = run.file;
    extent.begin = run.byteOffset;
    extent.end = *end;
    m_extents.push_back(extent);
}

uint32_t FileExtents::stateNumber(const std::string& name)
{
    const auto number
        = static_cast<uint32_t>(std::find(m_states.begin(), m_states.end(), name) - m_states.begin());
    if (number == m_states.size())
        m_states.push_back(name);
    return number;
}

std::span<const FileExtent> FileExtents::of(FileId file) const
{
    const size_t at = index(file);
    if (at + 1 >= m_begins.size())
        return {};
    return std::span(m_extents).subspan(m_begins[at], m_begins[at + 1] - m_begins[at]);
}

size_t FileExtents::firstAfter(std::span<const FileExtent> extents, uint64_t byte)
{
    // Ends rise with begins, but for extents that share bytes.
    const auto found = std::partition_point(
        extents.begin(), extents.end(), [byte](const FileExtent& extent) { return extent.end <= byte; });
    return static_cast<size_t>(found - extents.begin());
}

uint64_t FileExtents::covered(FileId file) const
{
    uint64_t bytes = 0;
    uint64_t end = 0;
    for (const FileExtent& extent : of(file)) {
        const uint64_t begin = std::max(extent.begin, end);
        if (extent.end > begin)
            bytes += extent.end - begin;
        end = std::max(end, extent.end);
    }
    return bytes;
}

} // namespace shardscope
