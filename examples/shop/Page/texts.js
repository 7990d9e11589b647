// Every word that a visitor reads, in both languages: [português, English].

const words = {
  title: ["Biometric Pix: uma loja de exemplo", "Biometric Pix: an example shop"],
  tagline: ["uma loja de exemplo", "an example shop"],
  language: ["English", "Português"],
  skip: ["Ir para a loja", "Skip to the shop"],
  headline: ["Pix com um toque.", "Pix with one touch."],
  lead: [
    "Compre algo no telefone. Ao lado, ao vivo, o que o servidor, a Belvo e o banco fazem a cada toque.",
    "Buy something on the phone. Beside it, live: what the server, Belvo and the bank do at every touch."],
  phone: ["O app da loja", "The shop's app"],
  guide: ["Guia", "Guide"],
  behind: ["Nos bastidores", "Behind the curtain"],
  demo: ["Demonstração nesta máquina. Nenhum dinheiro é movimentado.",
    "A demonstration on this machine. No money moves."],
  loading: ["Um momento…", "One moment…"],
  offline: ["A loja não responde. Ela ainda está em execução?", "The shop does not answer. Is it still running?"],
  again: ["Tentar de novo", "Try again"],
  back: ["Voltar", "Back"],
  anew: ["Recomeçar como outra pessoa", "Start over as somebody else"],

  shop_name: ["Serra", "Serra"],
  shop_line: ["café, mel e barro", "coffee, honey and clay"],
  promo_title: ["Pague com um toque", "Pay with a touch"],
  promo_text: ["Conecte seu banco uma vez. Leva um minuto.", "Connect your bank once. It takes a minute."],
  promo_go: ["Conectar meu banco", "Connect my bank"],
  ready_text: ["{bank} conectado: pague com um toque.", "{bank} is connected: pay with a touch."],
  coffee: ["Café da Mantiqueira", "Mantiqueira coffee"],
  coffee_more: ["em grãos, 250 g", "beans, 250 g"],
  honey: ["Mel silvestre", "Wild honey"],
  honey_more: ["pote de 280 g", "280 g jar"],
  mug: ["Caneca de barro", "Clay mug"],
  mug_more: ["feita à mão", "made by hand"],
  tea: ["Chá-mate tostado", "Roasted mate"],
  tea_more: ["lata de 100 g", "100 g tin"],
  add: ["Adicionar {name}", "Add {name}"],
  remove: ["Tirar {name}", "Remove {name}"],
  cart: ["Carrinho", "Cart"],
  cart_go: ["Ver carrinho", "View cart"],
  items: ["{n} itens", "{n} items"],
  item: ["1 item", "1 item"],
  total: ["Total", "Total"],
  this_browser: ["Pix por biometria, neste navegador", "Biometric Pix, in this browser"],
  touch: ["Pagar {amount}", "Pay {amount}"],
  touch_hint: ["Um toque paga.", "One touch pays."],
  empty: ["O carrinho está vazio.", "The cart is empty."],

  step: ["Passo {n} de 4", "Step {n} of 4"],
  person_title: ["Quem paga?", "Who pays?"],
  person_text: ["Como está na sua conta do banco.", "As your bank account has it."],
  name: ["Nome completo", "Full name"],
  cpf: ["CPF", "CPF (tax number)"],
  example: ["Usar um exemplo válido", "Use a valid example"],
  go_on: ["Continuar", "Continue"],
  wrong_name: ["Escreva o nome completo.", "Write the full name."],
  wrong_cpf: ["Este CPF não existe: confira os dígitos.", "There is no such CPF: check the digits."],
  known_cpf: [
    "Este CPF já é de outra pessoa aqui. Use outro.", "Somebody else here has this CPF already. Use another one."],
  bank_title: ["Qual é o seu banco?", "Which is your bank?"],
  bank_text: ["Você confirma lá, uma única vez.", "You confirm there, only once."],
  bank_off: ["indisponível", "unavailable"],
  redirect_title: ["Agora, o seu banco", "Now, your bank"],
  redirect_text: [
    "{bank} vai perguntar se este navegador pode pagar. Depois você volta para cá.",
    "{bank} asks whether this browser may pay. Then you come back here."],
  redirect_go: ["Abrir {bank}", "Open {bank}"],
  waiting_title: ["O banco está preparando", "The bank is getting ready"],
  waiting_text: ["Leva alguns segundos.", "It takes a few seconds."],
  finger_title: ["Registre sua digital", "Register your fingerprint"],
  finger_text: [
    "Use o que desbloqueia este aparelho. A chave nunca sai dele.",
    "Use what unlocks this device. The key never leaves it."],
  finger_go: ["Registrar", "Register"],
  finger_no: ["Não deu certo: {why}", "That did not work: {why}"],
  software_note: [
    "Este navegador não tem leitor: uma digital em software assina no lugar dele. A assinatura é verificada "
      + "pelo banco da mesma forma.",
    "This browser has no reader: a fingerprint in software signs in its place. The bank checks the signature "
      + "all the same."],
  machine_note: [
    "Este aparelho tem leitor ou PIN: a assinatura é de verdade.",
    "This device has a reader or a PIN: the signature is real."],
  use_software: ["Usar a digital em software", "Use the fingerprint in software"],
  confirming_title: ["O banco está conferindo", "The bank is checking"],
  connected_title: ["Tudo pronto", "All done"],
  connected_text: [
    "Este navegador paga por {bank}. Daqui em diante, um toque basta.",
    "This browser pays from {bank}. From now on a touch is enough."],
  to_shop: ["Ir às compras", "Go shopping"],
  to_cart: ["Voltar ao carrinho", "Back to the cart"],

  opening: ["Abrindo o pagamento", "Opening the payment"],
  signing: ["Toque para assinar", "Touch to sign"],
  sending: ["Enviando ao banco", "Sending it to the bank"],
  settling: ["O dinheiro está a caminho", "The money is on its way"],
  looking: ["Conferindo com a Belvo", "Finding out from Belvo"],
  calm: ["Pode fechar a página: nada se perde e nada é pago duas vezes.",
    "You may close the page: nothing is lost, and nothing is paid twice."],
  paid: ["Pago", "Paid"],
  paid_to: ["para Serra", "to Serra"],
  from: ["De", "From"],
  when: ["Quando", "When"],
  order: ["Pedido", "Order"],
  end_to_end: ["ID do Pix (end-to-end)", "End-to-end id of the Pix"],
  told: ["A loja soube por um evento assinado.", "The shop was told by a signed event."],
  telling: ["A loja vai saber em instantes.", "The shop is being told."],
  more: ["Comprar mais", "Buy more"],
  nothing_paid: ["Nada foi pago.", "Nothing was paid."],
  given_up: ["Você desistiu", "You gave up"],
  given_up_text: ["E agora o banco paga assim mesmo, atrasado…", "And now the bank pays all the same, late…"],

  now: ["Vamos tentar de novo?", "Shall we try again?"],
  now_text: ["Não deu para concluir desta vez. Você já pode tentar novamente.",
    "It could not be completed this time. You can try again right away."],
  later: ["Tente mais tarde", "Try again later"],
  later_text: ["Não foi possível concluir agora. Aguarde um pouco antes de tentar novamente.",
    "It cannot be completed right now. Please wait a while before you try again."],
  other_bank: ["Escolha outro banco", "Choose another bank"],
  other_bank_text: ["No momento, este banco não aceita esta operação. Experimente com outro banco.",
    "This bank does not accept this at the moment. Please try another bank."],
  enroll_again: ["Conecte seu banco novamente", "Connect your bank again"],
  enroll_again_text: ["A conexão com o seu banco precisa ser refeita antes do pagamento. Leva poucos minutos.",
    "The connection with your bank has to be renewed before you pay. It takes a few minutes."],
  insufficient_funds: ["Saldo insuficiente", "Not enough balance"],
  insufficient_funds_text: [
    "O saldo da conta não cobre este pagamento. Adicione saldo ou escolha outro banco.",
    "The account balance does not cover this payment. Add money or choose another bank."],
  limit: ["Valor acima do limite", "Amount above the limit"],
  limit_text: [
    "O valor ultrapassa o limite do Pix da sua conta. Ajuste o limite no app do banco ou escolha outro banco.",
    "The amount is above the Pix limit of your account. Adjust the limit in your bank's app or choose another bank."],
  contact_bank: ["Fale com o seu banco", "Contact your bank"],
  contact_bank_text: [
    "O banco não autorizou esta operação e só ele pode informar o motivo. Você também pode escolher outro banco.",
    "The bank did not authorize this, and only the bank can say why. You can also choose another bank."],
  no_answer: ["O servidor não responde.", "The server does not answer."],
};

const browsers = (navigator.languages ?? [navigator.language]).some(name => name.startsWith("pt")) ? 0 : 1;
let chosen = browsers;

/** Takes words that another module brings along. */
export const teach = more => Object.assign(words, more);

export const language = {
  get tag() { return chosen === 0 ? "pt-BR" : "en"; },
  set tag(tag) { chosen = tag === "pt-BR" ? 0 : 1; },
};

/** The text of a name, with what stands in braces put in. */
export const t = (name, values = {}) => {
  const text = words[name]?.[chosen] ?? name;
  return text.replace(/\{(\w+)\}/g, (_, value) => values[value] ?? "");
};

/** The text with each id in it cut to its end. */
export const shortened = text => text.replace(/[0-9a-f]{8}-[0-9a-f-]{23}([0-9a-f]{4})/g, "…$1");

export const isText = name => name in words;

export const money = centavos => new Intl.NumberFormat(
  chosen === 0 ? "pt-BR" : "en", {style: "currency", currency: "BRL"}).format(centavos / 100);

export const clock = moment => new Intl.DateTimeFormat(
  language.tag, {dateStyle: "short", timeStyle: "medium"}).format(moment);
