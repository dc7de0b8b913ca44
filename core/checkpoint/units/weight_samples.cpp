// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/units/weight_samples.h"

#include "core/base/finding_codes.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace shardscope {

std::optional<double> roundingOf(DType dtype, double value)
{
    switch (dtype) {
    case DType::BFloat16:
        return std::ldexp(std::abs(value), -7);
    case DType::Float16:
        return std::max(std::ldexp(std::abs(value), -10), std::ldexp(1.0, -24));
    case DType::Float32:
        return 0.0;
    default:
        return std::nullopt;
    }
}

void WeightSamples::compare(const io::ReadFile& shard, uint64_t byte, DType masterType, ParamId param,
    uint64_t begin, uint64_t count, WeightTally& tally)
{
    const WholeTensor* whole = m_reading.out.wholeOf(param);
    if (whole == nullptr || !whole->contiguous || !roundingOf(whole->dtype, 1) || !roundingOf(masterType, 1))
        return;
    const io::ReadFile* copyFile
        = m_reading.out.isReadable(whole->run.file) ? open(whole->run.file) : nullptr;
    if (copyFile == nullptr)
        return;
    const uint64_t masterBytes = itemSize(masterType);
    const uint64_t copyBytes = itemSize(whole->dtype);
    const uint64_t copyAt = whole->run.byteOffset + begin * copyBytes;
    if (m_isPlanning) {
        m_planned.push_back({&shard, byte, count * masterBytes});
        m_planned.push_back({copyFile, copyAt, count * copyBytes});
        tally.compared += count;
        return;
    }
    std::vector<uint8_t> masters(count * masterBytes);
    std::vector<uint8_t> copies(count * copyBytes);
    if (!noted(shard.readAt(byte, masters)) || !noted(copyFile->readAt(copyAt, copies)))
        return;
    for (uint64_t i = 0; i < count; ++i) {
        const double master = elementAsDouble(masterType, masters.data() + i * masterBytes);
        const double copy = elementAsDouble(whole->dtype, copies.data() + i * copyBytes);
        if (!std::isfinite(master) || !std::isfinite(copy))
            continue;
        ++tally.compared;
        if (std::abs(master - copy) > *roundingOf(whole->dtype, master))
            ++tally.different;
    }
}

void WeightSamples::fetch(std::span<const std::unique_ptr<io::HeldFile>> shards)
{
    m_isPlanning = false;
    std::map<const io::ReadFile*, io::HeldFile*> known;
    for (const auto& shard : shards)
        known.emplace(shard.get(), shard.get());
    for (const auto& [id, file] : m_files)
        known.emplace(file.get(), file.get());
    std::vector<io::WantedRange> wanted;
    for (const Planned& planned : std::exchange(m_planned, {}))
        wanted.push_back({known.at(planned.file), planned.offset, planned.bytes});
    io::hold(m_reading.files, wanted);
}

void WeightSamples::noteUnreadable(const Error& error) const
{
    m_reading.add(code::kFileUnreadable, Severity::Error, "some values of the file cannot be read",
        io::Path(error.path).filename().string(), {describe(error)});
}

const io::ReadFile* WeightSamples::open(FileId file)
{
    const auto [entry, isNew] = m_files.try_emplace(index(file));
    if (isNew) {
        auto opened = m_reading.files.openRead(m_reading.out.file(file).path);
        if (opened)
            entry->second = std::make_unique<io::HeldFile>(std::move(*opened));
        else
            noteUnreadable(opened.error());
    }
    return entry->second.get();
}

bool WeightSamples::noted(const Status& read) const
{
    if (!read)
        noteUnreadable(read.error());
    return read.has_value();
}

} // namespace shardscope
