// SPDX-License-Identifier: Apache-2.0
#include "ui/layoutmap/geometry/map_names.h"

#include "core/checkpoint/model/layer_names.h"

#include <algorithm>
#include <charconv>
#include <string_view>

namespace shardscope::ui {

namespace {

/// FNV-1a, from a start with which no two neighbours in a layer of LLaMA, GPT-2, GPT-NeoX, BERT, Mixtral and
/// torch.nn's transformer have one hue.
class WordHash
{
public:
    void add(std::string_view word)
    {
        for (const char character : word)
            mix(static_cast<unsigned char>(character));
        mix('.');
    }
    [[nodiscard]] uint64_t value() const { return m_hash >> 32; }

private:
    void mix(unsigned char character) { m_hash = (m_hash ^ character) * 0x100000001b3u; }

    uint64_t m_hash = 72569;
};

/// From the name alone, so that a parameter has its hue in every checkpoint, whatever is beside it there.
/// Words before the first number, words after it and the numbers count by themselves: inside of layers the
/// same hues follow each other, and parameters that differ by a number of 1 (experts, layers) differ in hue.
uint8_t hueFromName(std::string_view name)
{
    constexpr uint64_t kStepOfNumbers = 5; // has no common divisor with the number of hues
    WordHash before;
    WordHash after;
    uint64_t numbers = 0;
    bool isInLayer = false;
    while (!name.empty()) {
        const size_t dot = std::min(name.find('.'), name.size());
        const std::string_view word = name.substr(0, dot);
        name.remove_prefix(std::min(dot + 1, name.size()));
        uint64_t number = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
        if (error == std::errc() && end == word.data() + word.size()) {
            isInLayer = true;
            numbers += number % MapNames::kHues;
        } else {
            (isInLayer ? after : before).add(word);
        }
    }
    const uint64_t sum = before.value() % MapNames::kHues + (isInLayer ? after.value() % MapNames::kHues : 0)
        + kStepOfNumbers * numbers;
    return static_cast<uint8_t>(sum % MapNames::kHues);
}

uint32_t layerFromName(std::string_view name)
{
    const auto numbered = numberedName(name);
    return numbered ? numbered->number : MapNames::kNoLayer;
}

} // namespace

std::string_view nameWithoutHolder(const Checkpoint& checkpoint, ParamId param)
{
    const std::string_view name = checkpoint.params[index(param)].name;
    const size_t colon = checkpoint.parts.empty() ? std::string_view::npos : name.rfind(':');
    return colon == std::string_view::npos || colon == 0 ? name : name.substr(0, colon);
}

MapNames::MapNames(CheckpointPtr checkpoint)
    : m_checkpoint(std::move(checkpoint))
{
}

void MapNames::read() const
{
    const std::vector<Parameter>& params = m_checkpoint->params;
    m_hues.resize(params.size());
    m_layers.resize(params.size(), kNoLayer);
    for (size_t i = 0; i < params.size(); ++i) {
        m_hues[i] = hueFromName(nameWithoutHolder(*m_checkpoint, ParamId{static_cast<uint32_t>(i)}));
        m_layers[i] = layerFromName(params[i].name);
        if (m_layers[i] != kNoLayer) {
            m_highestLayer = std::max(m_highestLayer, m_layers[i]);
        }
    }
    m_isRead.store(true, std::memory_order_release);
}

void MapNames::readAhead() const
{
    std::call_once(m_read, [this] { read(); });
}

uint8_t MapNames::hueOf(ParamId param) const
{
    std::call_once(m_read, [this] { read(); });
    return m_hues[index(param)];
}

uint32_t MapNames::layerOf(ParamId param) const
{
    std::call_once(m_read, [this] { read(); });
    return m_layers[index(param)];
}

uint32_t MapNames::highestLayer() const
{
    std::call_once(m_read, [this] { read(); });
    return m_highestLayer;
}

bool MapNames::hasLayers() const
{
    return std::any_of(m_checkpoint->params.begin(), m_checkpoint->params.end(),
        [](const Parameter& param) { return layerFromName(param.name) != kNoLayer; });
}

} // namespace shardscope::ui
