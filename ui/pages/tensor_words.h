// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ui/session/check_run.h"
#include "ui/tensorview/tensor_pages.h"

#include <QString>

namespace shardscope::ui {

/// "float32 · (256, 64) · 16,384 elements · 64.0 KiB · group 0, in 2 pieces": the tensor and its storage.
QString tensorFacts(const TensorSource& source);
/// "[3, 17] = 0.25  (0x3e800000)": one element, its value with all digits once it is read.
QString elementWords(TensorPages& pages, uint64_t element);
/// "dp0.tp0.pp0 · FILE, byte 512": its place.
QString placeWords(const TensorSource& source, uint64_t element);
QString elementAddress(const TensorSource& source, uint64_t element);
/// The same element as a command line of `shardscope`, quoted for a shell.
QString showCommand(const TensorSource& source, const CheckPlace& place, uint64_t element);
void copyText(const QString& text);

} // namespace shardscope::ui
