// Filters the documentation while the reader types. Without this script, the whole of it is shown.
'use strict';

const search = document.querySelector('#search');
const nav = document.querySelector('.docs > nav');
const status = document.querySelector('#found');
const sections = [...document.querySelectorAll('.docs section')].map((section) => ({
  section,
  link: nav.querySelector(`a[href="#${section.id}"]`).closest('li'),
  text: section.textContent.toLowerCase(),
}));

function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let found = 0;
  for (const { section, link, text } of sections) {
    const fits = words.every((word) => text.includes(word));
    section.hidden = link.hidden = !fits;
    found += fits;
  }
  for (const heading of document.querySelectorAll('.docs h2[data-group], .docs p[data-group]')) {
    heading.hidden = !sections.some((it) => !it.section.hidden && it.section.dataset.group === heading.dataset.group);
  }
  if (words.length === 0) status.textContent = '';
  else if (found === 0) status.textContent = 'Nothing matches.';
  else status.textContent = found === 1 ? '1 section matches.' : `${found} sections match.`;
}

search.closest('div').hidden = false;
search.addEventListener('input', filter);
filter();
