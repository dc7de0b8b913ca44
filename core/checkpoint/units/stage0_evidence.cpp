// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/units/stage0_evidence.h"

#include "core/base/finding_codes.h"
#include "core/tensor/convert.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_set>

namespace shardscope {

std::vector<ModuleTensor> listModuleTensors(const Reading& reading)
{
    const TorchFile& file = *reading.content(reading.out.templateModel);
    const PickleGraph& graph = file.pickle();
    std::unordered_set<std::string_view> buffers;
    for (const NodeId item : sequenceItems(graph, lookup(graph, reading.modelRoot, "buffer_names"))) {
        if (const auto name = asString(graph, item))
            buffers.emplace(*name);
    }
    std::vector<ModuleTensor> out;
    std::map<std::tuple<uint64_t, Shape>, bool> places; // for tied parameters: the first name only
    const auto items = mappingItems(graph, lookup(graph, reading.modelRoot, "module"));
    for (size_t i = 0; i + 1 < items.size(); i += 2) {
        const auto name = asString(graph, items[i]);
        if (!name || buffers.contains(*name) || !looksLikeTensor(graph, items[i + 1]))
            continue;
        const auto tensor = asTensor(graph, items[i + 1]);
        if (!tensor || !tensor->elements())
            continue;
        const auto extent = file.extentOf(*tensor);
        if (!extent)
            continue;
        const uint64_t elements = *tensor->elements();
        if (elements > 0 && !places.emplace(std::tuple(extent->byteOffset, tensor->sizes), true).second)
            continue;
        out.push_back({*name, tensor->sizes, elements, tensor->dtype,
            {reading.out.templateModel, extent->record, extent->byteOffset, elements},
            tensor->isContiguous()});
    }
    return out;
}

CopyEvidence::CopyEvidence(const Reading& reading, const std::vector<ModuleTensor>& copies, FileId masters)
    : m_reading(reading)
    , m_copies(copies)
    , m_mastersFile(masters)
    , m_samples(copies.size())
{
}

bool CopyEvidence::agrees(uint32_t copy, uint64_t byte, DType masterType)
{
    const ModuleTensor& tensor = m_copies[copy];
    if (!tensor.contiguous || !isFloatingPoint(tensor.dtype) || !isFloatingPoint(masterType))
        return true; // there is nothing to compare it with
    const Bytes& expected = sampleOf(copy);
    const uint32_t copyBytes = itemSize(tensor.dtype);
    const uint32_t masterBytes = itemSize(masterType);
    const uint64_t count = expected.size() / copyBytes;
    const Bytes& masters = mastersAt(byte, static_cast<uint32_t>(count * masterBytes));
    if (m_failed)
        return true;
    for (uint64_t i = 0; i < count && (i + 1) * masterBytes <= masters.size(); ++i) {
        const double master = elementAsDouble(masterType, masters.data() + i * masterBytes);
        const uint8_t* stored = expected.data() + i * copyBytes;
        const auto cast = elementOf(tensor.dtype, master);
        const bool same = cast && std::equal(cast->begin(), cast->end(), stored);
        if (!same && !(std::isnan(master) && std::isnan(elementAsDouble(tensor.dtype, stored))))
            return false;
    }
    return true;
}

const CopyEvidence::Bytes& CopyEvidence::sampleOf(uint32_t copy)
{
    const ModuleTensor& tensor = m_copies[copy];
    if (m_samples[copy].empty() && tensor.elements > 0)
        m_samples[copy] = read(tensor.run.file, tensor.run.byteOffset,
            std::min(tensor.elements, kSample) * itemSize(tensor.dtype));
    return m_samples[copy];
}

const CopyEvidence::Bytes& CopyEvidence::mastersAt(uint64_t byte, uint32_t bytes)
{
    if (m_masters.size() > kMaxKept)
        m_masters.clear();
    Bytes& kept = m_masters[byte];
    if (kept.size() < bytes)
        kept = read(m_mastersFile, byte, bytes);
    return kept;
}

CopyEvidence::Bytes CopyEvidence::read(FileId id, uint64_t byte, uint64_t bytes)
{
    const CheckpointFile& file = m_reading.out.file(id);
    const auto [entry, isNew] = m_files.try_emplace(index(id));
    if (isNew) {
        if (auto opened = m_reading.files.openRead(file.path))
            entry->second = std::move(*opened);
    }
    if (entry->second == nullptr) {
        m_failed = true;
        return {};
    }
    Bytes out(bytes);
    const Status done = entry->second->readAt(byte, out);
    if (!done && !m_failed && !m_reading.hasNoValues())
        m_reading.add(code::kFileUnreadable, Severity::Error, "some values of the file cannot be read",
            file.name, {describe(done.error())});
    m_failed = m_failed || !done;
    return out;
}

} // namespace shardscope
