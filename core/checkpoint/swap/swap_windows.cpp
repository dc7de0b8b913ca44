// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/swap/swap_windows.h"

#include "core/base/finding_codes.h"

#include <algorithm>

namespace shardscope {

namespace {

constexpr uint64_t kWindowElements = 256;
constexpr size_t kWindows = 6; ///< per tensor

} // namespace

std::vector<SwapWindow> swapWindowsOf(const FlatUnit& unit, uint32_t rank)
{
    std::vector<SwapWindow> all;
    unit.partition.forEachPiece(rank, 0, unit.partition.partitionElements(), [&](const FlatPiece& piece) {
        if (!piece.isPadding() && piece.elements > 0) {
            const uint64_t count = std::min(piece.elements, kWindowElements);
            all.push_back({piece.flatOffset, count});
            all.push_back({piece.flatOffset + piece.elements - count, count});
        }
        return true;
    });
    if (all.size() <= kWindows)
        return all;
    std::vector<SwapWindow> out;
    for (size_t i = 0; i < kWindows; ++i)
        out.push_back(all[i * (all.size() - 1) / (kWindows - 1)]);
    return out;
}

StoredRun swapCopyOf(const Reading& reading, const SwapSubject& subject, const SwappedState& state)
{
    const TorchFile* file = reading.content(subject.file);
    const PickleGraph& graph = file->pickle();
    const NodeId node = state.name == "fp32" ? subject.master : lookup(graph, subject.state, state.name);
    const auto tensor = asTensor(graph, node);
    if (!tensor || tensor->sizes != Shape{subject.unit->partition.partitionElements()}
        || tensor->dtype != state.dtype || !tensor->isContiguous())
        return {};
    const auto extent = file->extentOf(*tensor);
    return extent ? StoredRun{subject.file, extent->record, extent->byteOffset, tensor->sizes[0]}
                  : StoredRun{};
}

std::vector<uint8_t> SwapWindowReader::read(const StoredRun& run, const SwapWindow& window, DType dtype)
{
    if (run.file != m_id) {
        m_id = run.file;
        auto opened = m_reading.files.openRead(m_reading.out.file(run.file).path);
        m_file = opened ? std::move(*opened) : nullptr;
        if (!opened)
            complain(opened.error());
    }
    if (m_file == nullptr)
        return {};
    std::vector<uint8_t> bytes(window.elements * itemSize(dtype));
    const auto done = m_file->readAt(run.byteOffset + window.begin * itemSize(dtype), bytes);
    if (done)
        return bytes;
    complain(done.error());
    m_file.reset();
    return {};
}

void SwapWindowReader::complain(const Error& error) const
{
    m_reading.add(code::kFileUnreadable, Severity::Error, "some values of the file cannot be read",
        m_reading.out.file(m_id).name, {describe(error)});
}

} // namespace shardscope
