// SPDX-License-Identifier: Apache-2.0
#define DOCTEST_CONFIG_IMPLEMENT
#include "tests/ui/support_asserts.h"

#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>

namespace shardscope::test {

void endProgramOnFailedAssertion()
{
    static doctest::Context context;
    context.setAsDefaultForAssertsOutOfTestCases();
    context.setAssertHandler([](const doctest::AssertData& data) {
        if (!data.m_failed) {
            return;
        }
        std::fprintf(stderr, "%s:%d: this does not hold: %s\n", data.m_file, data.m_line, data.m_expr);
        std::abort();
    });
}

} // namespace shardscope::test
