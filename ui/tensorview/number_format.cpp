// SPDX-License-Identifier: Apache-2.0
#include "ui/tensorview/number_format.h"

#include <cmath>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

namespace {

bool isComplex(DType dtype)
{
    return dtype == DType::Complex32 || dtype == DType::Complex64 || dtype == DType::Complex128;
}

} // namespace

QString valueText(DType dtype, const uint8_t* bytes, const NumberFormat& format)
{
    if (format.form == NumberForm::Hex || dtype == DType::Unknown) {
        QString text;
        for (uint32_t i = itemSize(dtype); i-- > 0;) // most significant first, as a number
            text += u"%1"_s.arg(bytes[i], 2, 16, QLatin1Char('0'));
        return text;
    }
    const bool spelled = format.form != NumberForm::Exact && isFloatingPoint(dtype) && !isComplex(dtype);
    const double value = spelled ? elementAsDouble(dtype, bytes) : 0;
    if (!spelled || !std::isfinite(value))
        return QString::fromStdString(elementAsText(dtype, bytes));
    const char form = format.form == NumberForm::Decimals ? 'f'
        : format.form == NumberForm::Scientific           ? 'e'
                                                          : 'g';
    return QString::number(value, form, format.digits);
}

QString widestValue(DType dtype, const NumberFormat& format)
{
    const auto digits = static_cast<qsizetype>(format.digits);
    if (format.form == NumberForm::Hex || dtype == DType::Unknown)
        return QString(2 * static_cast<qsizetype>(itemSize(dtype)), u'0');
    if (isComplex(dtype))
        return QString(26, u'0');
    if (!isFloatingPoint(dtype))
        return QString(itemSize(dtype) == 1 ? 5 : 10, u'0');
    if (format.form == NumberForm::Exact)
        return QString(itemSize(dtype) >= 8 ? 22 : 14, u'0');
    return QString(format.form == NumberForm::Decimals ? digits + 5 : digits + 7, u'0');
}

QString shortNumber(double value)
{
    return std::isnan(value) ? u"nan"_s : QString::number(value, 'g', 5);
}

} // namespace shardscope::ui
