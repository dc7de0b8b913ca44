// SPDX-License-Identifier: Apache-2.0
#include "ui/shell/page_filter.h"

#include "ui/models/find/finder.h"
#include "ui/shell/find_box.h"
#include "ui/text/text.h"
#include "ui/widgets/filter_field.h"

using namespace Qt::StringLiterals;

namespace shardscope::ui {

PageFilter::PageFilter(PageTabs& tabs, const PageContext& context, const Actions& actions, QWidget* parent)
    : QObject(parent)
    , m_tabs(tabs)
    , m_field(new FilterField(context.theme, parent))
    , m_find(new FindBox(*this, tabs, context.session, actions, context.theme))
{
    m_field->setSaved(context.settings.filters());
    connect(m_field, &FilterField::savedChanged, &context.settings, &Settings::setFilters);
    connect(m_field, &QLineEdit::textChanged, this, &PageFilter::onTyped);
    connect(m_field, &FilterField::accepted, this, &PageFilter::showFiltered);
    connect(&m_tabs, &QTabWidget::currentChanged, this, &PageFilter::onPageChanged);
    for (qsizetype i = 0; i < m_tabs.pages().size(); ++i) {
        const auto id = static_cast<PageId>(i);
        connect(m_tabs.page(id), &Page::filtered, this,
            [this, id](const FilterView& view) { onFiltered(id, view); });
        connect(m_tabs.page(id), &Page::filterWanted, this,
            [this, id](const QString& wanted) { onFilterWanted(id, wanted); });
    }
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

std::vector<FilterTerm> PageFilter::terms() const
{
    return m_tabs.page(filtered())->filterTerms();
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

void PageFilter::applyText()
{
    if (m_field->text().startsWith(u'>'))
        return;
    m_texts[filtered()] = m_field->text();
    apply(filtered(), m_field->text());
}

void PageFilter::showFiltered()
{
    m_tabs.showPage(filtered());
    m_tabs.current()->setFocus(Qt::OtherFocusReason);
}

bool PageFilter::removeTerm()
{
    QStringList words = FilterText::split(m_field->text());
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
    for (Page* page : m_tabs.pages())
        page->setFilter({});
}

void PageFilter::onPageChanged()
{
    const PageId id = filtered();
    m_changing = true;
    m_field->setText(text(id));
    m_changing = false;
    const FilterView& view = m_views[id];
    m_field->setProblem(view.problem ? view.problem->reason : QString(), view.problem ? view.problem->at : 0,
        view.problem ? view.problem->length : 0);
}

void PageFilter::onTyped(const QString& text)
{
    if (m_changing)
        return;
    if (m_field->hasFocus() && looksLikePlace(text)) { // to go to: the rows stay as they were
        m_texts[filtered()] = m_find->before();
        return apply(filtered(), m_find->before());
    }
    m_texts[filtered()] = text;
    // What is being typed may be unfinished: the table would flash.
    apply(filtered(), m_field->hasFocus() ? FilterText::settled(text, terms()) : text);
}

void PageFilter::apply(PageId page, const QString& text)
{
    m_tabs.filled(page)->setFilter(text);
}

void PageFilter::onFilterWanted(PageId page, const QString& text)
{
    // The bar of a page without a filter of its own shows that of the parameters.
    const PageId of = m_tabs.page(page)->filterHint().isEmpty() ? PageId::Parameters : page;
    if (of == filtered())
        return m_field->setText(text);
    m_texts[of] = text;
    apply(of, text);
}

void PageFilter::onFiltered(PageId page, const FilterView& view)
{
    m_views[page] = view;
    if (page == PageId::Parameters)
        for (Page* each : m_tabs.pages())
            if (each->filterHint().isEmpty())
                each->showFilter(view);
    if (page != filtered())
        return;
    m_field->setProblem(view.problem ? view.problem->reason : QString(), view.problem ? view.problem->at : 0,
        view.problem ? view.problem->length : 0);
    tellCount();
}

void PageFilter::tellCount()
{
    const FilterView& view = m_views[filtered()];
    const QString title = pageEntry(filtered()).title;
    if (m_field->text().trimmed().isEmpty() || view.words.isEmpty())
        return m_find->showFilter({});
    m_find->showFilter(view.problem ? tr("Filter %1: %2").arg(title, view.problem->reason)
                                    : tr("Filter %1: %2   (Shift+Enter)").arg(title, view.count));
}

} // namespace shardscope::ui
