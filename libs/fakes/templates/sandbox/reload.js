// The page loads itself again, so that what is published appears, until its reader pauses that.
'use strict';

const INTERVAL = 1000 * Number(document.currentScript.dataset.seconds);
const button = document.createElement('button');
let isPaused = sessionStorage.getItem('paused') === 'true';

function show() {
  button.textContent = isPaused ? 'Resume updates' : 'Pause updates';
}

button.type = 'button';
button.className = 'quiet';
button.addEventListener('click', () => {
  isPaused = !isPaused;
  sessionStorage.setItem('paused', isPaused);
  show();
});
show();
document.querySelector('header nav').append(' ', button);
const timer = setInterval(() => {
  if (!isPaused) location.reload();
}, INTERVAL);
// A reload would take the place of the page that its reader has asked for.
addEventListener('beforeunload', () => clearInterval(timer));
