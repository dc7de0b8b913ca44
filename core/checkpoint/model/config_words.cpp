// SPDX-License-Identifier: Apache-2.0
#include "core/checkpoint/model/config_words.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace shardscope {

namespace {

constexpr size_t kLongestKey = 64;

/// In lower case: DeepSpeed compares most of them case-insensitively.
constexpr std::array<std::string_view, 71> kWords{"", "auto", "none", "null", "true", "false", "cpu", "cuda",
    "nvme", "fp16", "bf16", "bfp16", "fp32", "fp64", "int8", "float16", "float32", "bfloat16", "adam",
    "adamw", "fusedadam", "cpuadam", "deepspeedcpuadam", "adagrad", "cpuadagrad", "lamb", "fusedlamb", "lion",
    "fusedlion", "cpulion", "sgd", "muon", "muadam", "muadamw", "musgd", "rmsprop", "adafactor", "onebitadam",
    "onebitlamb", "zerooneadam", "warmuplr", "warmupdecaylr", "warmupcosinelr", "onecycle", "lrrangetest",
    "linear", "log", "cos", "cosine", "constant", "warn", "ignore", "fail", "sum", "mean", "nccl", "gloo",
    "mpi", "ccl", "hccl", "prescale", "fixed_linear", "fixed_root", "fixed_discrete", "custom", "seqlen",
    "step", "epoch", "auto_tp", "seq", "uniform"};

char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

} // namespace

bool isConfigWord(std::string_view text)
{
    return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view word) {
        return word.size() == text.size()
            && std::equal(
                word.begin(), word.end(), text.begin(), [](char a, char b) { return a == lower(b); });
    });
}

bool looksLikeConfigKey(std::string_view text)
{
    return !text.empty() && text.size() <= kLongestKey && std::all_of(text.begin(), text.end(), [](char c) {
        return (std::isalnum(static_cast<unsigned char>(c)) != 0) || c == '_' || c == '.' || c == '-';
    });
}

} // namespace shardscope
