// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/tensor/dtype.h"

#include <QString>

namespace shardscope::ui {

enum class NumberForm : uint8_t { Digits, Decimals, Scientific, Exact, Hex };

/// The number format of the grid.
struct NumberFormat {
    NumberForm form = NumberForm::Digits;
    int digits = 5; ///< significant ones, or those behind the point; Exact and Hex take none
    bool operator==(const NumberFormat&) const = default;
};

/// One element; `bytes` holds itemSize(dtype) little-endian bytes. Whole numbers have all their digits in
/// every form but Hex, which shows the bits.
QString valueText(DType dtype, const uint8_t* bytes, const NumberFormat& format);
/// The widest text that the format gives, for the width of a column.
QString widestValue(DType dtype, const NumberFormat& format);
/// A number of a scale or a statistic: five significant digits.
QString shortNumber(double value);

} // namespace shardscope::ui
