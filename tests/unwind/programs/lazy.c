/* SPDX-License-Identifier: MIT */
/* lazy.c - calls a function that is bound lazily. */
void call_lazily(int n);
void resolved(int n);

void call_lazily(int n)
{
    resolved(n);
    resolved(n + 1);
}
