// What a post may not have together: branded content cannot be private, and a disclosure needs a brand. Without this
// script, the service refuses both when the form is sent.
const form = document.querySelector('form.consent');
const button = form?.querySelector('button[type="submit"]');

function update() {
  const { visibility, disclose, brand_organic: own, brand_content: branded } = form.elements;
  const isBranded = disclose.checked && branded.checked;
  const isUndecided = disclose.checked && !own.checked && !branded.checked;
  for (const option of visibility.options) {
    if (option.value === 'SELF_ONLY') option.disabled = isBranded;
  }
  button.disabled = isUndecided;
  button.title = isUndecided ? form.querySelector('#undecided').textContent : '';
}

if (form) {
  form.addEventListener('change', update);
  update();
}
