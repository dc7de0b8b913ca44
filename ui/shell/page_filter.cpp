// SPDX-License-Identifier: Apache-2.0
#include "ui/shell/page_filter.h"

#include "ui/models/parameters/parameter_filter.h"
#include "ui/text/text.h"
#include "ui/widgets/filter_field.h"

#include <QLabel>

using namespace Qt::StringLiterals;

namespace shardscope::ui {

PageFilter::PageFilter(PageTabs& tabs, Theme& theme, Settings& settings, QWidget* parent)
    : QObject(parent)
    , m_tabs(tabs)
    , m_field(new FilterField(theme, parent))
    , m_count(new QLabel(parent))
{
    m_count->setObjectName(u"filterCount"_s);
    m_count->setContentsMargins(8, 0, 8, 0);
    m_field->setTerms(ParameterFilter::terms()); // of the first page
    m_field->setSaved(settings.filters());
    connect(m_field, &FilterField::savedChanged, &settings, &Settings::setFilters);
    connect(m_field, &QLineEdit::textChanged, this, &PageFilter::onTyped);
    connect(m_field, &FilterField::accepted, this, [this] {
        m_tabs.showPage(filtered());
        m_tabs.current()->setFocus(Qt::OtherFocusReason);
    });
    connect(&m_tabs, &QTabWidget::currentChanged, this, &PageFilter::onPageChanged);
    const Page* parameters = m_tabs.page(PageId::Parameters);
    connect(parameters, &Page::filtered, this, &PageFilter::onFiltered);
    connect(parameters, &Page::filterWanted, m_field, &QLineEdit::setText);
}

QString PageFilter::text(PageId page) const
{
    const auto found = m_texts.find(page);
    return found == m_texts.end() ? QString() : found->second;
}

PageId PageFilter::filtered() const
{
    return m_tabs.current()->filterHint().isEmpty() ? PageId::Parameters : m_tabs.currentId();
}

void PageFilter::setText(const QString& text)
{
    if (filtered() == PageId::Parameters)
        m_field->setText(text);
}

void PageFilter::filterParameters(const QString& text)
{
    m_tabs.showPage(PageId::Parameters);
    m_field->setText(text);
}

bool PageFilter::removeTerm()
{
    QStringList words = ParameterFilter::words(m_field->text());
    if (words.isEmpty())
        return false;
    words.removeLast();
    m_field->setText(words.join(u' '));
    return true;
}

void PageFilter::clear()
{
    m_texts.clear();
    m_field->clear();
    m_count->clear();
    for (Page* page : m_tabs.pages())
        page->setFilter({});
}

void PageFilter::onPageChanged()
{
    const PageId id = filtered();
    const Page& page = *m_tabs.page(id);
    m_changing = true;
    m_field->setText(text(id));
    m_field->setPlaceholderText(page.filterHint());
    m_field->setTerms(page.filterTerms());
    m_changing = false;
    m_count->setVisible(id == PageId::Parameters);
}

void PageFilter::onTyped(const QString& text)
{
    if (m_changing)
        return;
    m_texts[filtered()] = text;
    m_tabs.page(filtered())->setFilter(text);
}

void PageFilter::onFiltered(qulonglong shown, qulonglong total, const QString& problem)
{
    m_field->setProblem(problem);
    m_count->setText(
        text().trimmed().isEmpty() ? QString() : tr("%1 of %2").arg(countText(shown), countText(total)));
}

} // namespace shardscope::ui
